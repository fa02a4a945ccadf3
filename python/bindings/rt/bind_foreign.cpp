// Array arguments that are no ndarrays. Nothing is copied or converted; what they lend is given back after the call.
#include "array/tensor.h"
#include "array_object.h"
#include "bind_args.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

constexpr int64_t kNoAxes[1] = {};  // a frame knows arguments that are None by their null shape

Outcome bind_ref(const Target& target, const ArgPlan& arg, ArrayRef array, Frame& frame) {
  if (array.rank == 0) array.shape = array.byte_strides = kNoAxes;
  frame.arrays[arg.index].shape = array.shape;  // also where it is refused: the sentence shows them
  frame.arrays[arg.index].byte_strides = array.byte_strides;
  if (array.dtype != arg.dtype) {
    frame.mismatch = {Reason::Dtype, arg.index, -1, -1, static_cast<int64_t>(array.dtype)};
    return Outcome::Miss;
  }
  if (array.rank != arg.rank) {
    frame.mismatch = {Reason::Rank, arg.index, -1, -1, array.rank};
    return Outcome::Miss;
  }
  const bool fits = test_layout(arg, frame, array.data, array.shape, array.byte_strides, array.writable) &&
                    bind_array(target.plan(), arg, frame, array.data, array.shape, array.byte_strides);
  return fits ? Outcome::Done : Outcome::Miss;
}

// Whether the tensor's memory is all that there is to it; an error counts as no. Numbers alone are differentiated, and
// only views of complex ones are negated.
bool shows_its_values(const TypeFacts& facts, PyObject* object, DType dtype) {
  if (is_integer(dtype) || dtype == DType::Bool) return true;
  if (facts.requires_grad.ask(object) == 0 && facts.is_neg.ask(object) == 0 &&
      (!is_complex(dtype) || facts.is_conj.ask(object) == 0))
    return true;
  PyErr_Clear();
  return false;
}

// A tensor that its object holds, without a Python object or an allocation. False, without an error, leaves the
// argument to the other ways. Raises Error for tensors that no call takes.
bool borrow_tensor(const TypeFacts& facts, PyObject* object, Borrowed& borrowed, ArrayRef& array) {
  dlpack::Tensor tensor;
  if (facts.exchange->borrow(object, &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  check_tensor(tensor);
  const DType dtype = *ferrule::dtype_of(tensor.dtype);
  int64_t* strides = borrowed.strides(static_cast<size_t>(tensor.ndim));
  if (strides == nullptr) return false;
  fill_byte_strides(tensor, item_size(dtype), strides);
  array = {data_of(tensor), dtype, tensor.ndim, tensor.shape, strides, true};
  return true;
}

// The owning entry, for tables without the other one and for written arrays, of which only it tells whether they are
// read-only.
bool own_tensor(const TypeFacts& facts, PyObject* object, Array& array) {
  dlpack::ManagedVersioned* managed = nullptr;
  if (facts.exchange->from_object(object, &managed) != 0 || managed == nullptr) {
    PyErr_Clear();
    return false;
  }
  array = take_tensor(managed, give_back_tensor<dlpack::ManagedVersioned>);
  return true;
}

// Nothing: the other ways decide.
std::optional<Outcome> bind_through_table(const Target& target, const ArgPlan& arg, PyObject* object,
                                          const TypeFacts& facts, Attempt& attempt) try {
  Borrowed& borrowed = attempt.borrowed();
  ArrayRef array;
  if (facts.exchange->borrow != nullptr && (!arg.written || facts.always_writable)) {
    if (!borrow_tensor(facts, object, borrowed, array)) return std::nullopt;
  } else {
    Array own;
    if (!own_tensor(facts, object, own)) return std::nullopt;
    array = borrowed.add(arg.index, std::move(own));
  }
  if (!shows_its_values(facts, object, array.dtype)) return std::nullopt;
  borrowed.foreign = true;
  return bind_ref(target, arg, array, attempt.frame);
} catch (const Error&) {
  return std::nullopt;  // a tensor that calls do not take: the other ways refuse it with the exporter's reason
}

// A buffer in its own struct on the stack. Nothing: there is no more room.
std::optional<Outcome> bind_buffer(const Target& target, const ArgPlan& arg, PyObject* object, const TypeFacts& facts,
                                   const Asked& asked, Attempt& attempt) {
  Borrowed& borrowed = attempt.borrowed();
  Py_buffer* buffer = borrowed.next_buffer();
  if (buffer == nullptr) return std::nullopt;
  if (PyObject_GetBuffer(object, buffer, PyBUF_FULL_RO) != 0) {
    refuse_with_reason(asked, "the buffer protocol");
    return Outcome::Raised;
  }
  const std::optional<DType> dtype = type_of_buffer(*buffer, asked);
  const bool laid_out = buffer->ndim == 0 || (buffer->shape != nullptr && buffer->strides != nullptr);
  if (!dtype.has_value() || !laid_out) {
    PyBuffer_Release(buffer);
    if (dtype.has_value()) return std::nullopt;
    return Outcome::Raised;
  }
  const auto sizes = [buffer](const Py_ssize_t* values) {
    return buffer->ndim == 0 ? kNoAxes : reinterpret_cast<const int64_t*>(values);
  };
  const ArrayRef array = {buffer->buf,          *dtype, buffer->ndim, sizes(buffer->shape), sizes(buffer->strides),
                          buffer->readonly == 0};
  borrowed.hold_buffer(arg.index, array);
  borrowed.saw_python |= facts.python_buffer;
  return bind_ref(target, arg, array, attempt.frame);
}

}  // namespace

Borrowed::~Borrowed() {
  for (size_t i = 0; i < n_buffers_; ++i) PyBuffer_Release(&buffers_[i].buffer);
}

void Attempt::end_borrowing() {
  Borrowed& held = borrowed();
  problem.borrows = false;
  if (!held.holds_memory()) {
    held.~Borrowed();
    return;
  }
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  held.~Borrowed();
  PyErr_Restore(type, value, trace);
}

Outcome bind_foreign_array(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  if (const Array* own = array_of(object)) return bind_ref(target, arg, own->ref(), attempt.frame);
  if (attempt.problem.borrows)
    if (const ArrayRef* known = attempt.borrowed().find(arg.index)) return bind_ref(target, arg, *known, attempt.frame);
  const TypeFacts facts = facts_of(Py_TYPE(object));
  if (facts.exchange != nullptr)
    if (const std::optional<Outcome> bound = bind_through_table(target, arg, object, facts, attempt)) return *bound;
  const Asked asked = {target.plan().module->name, arg.declared->name, arg.written, !target.exact};
  if (facts.buffer && !facts.dlpack && asked.buffers)
    if (const std::optional<Outcome> bound = bind_buffer(target, arg, object, facts, asked, attempt)) return *bound;
  Array array;
  const Taken taken = take_foreign(object, facts, asked, array);
  if (taken == Taken::Raised) return Outcome::Raised;
  if (taken == Taken::NoArray) return miss(attempt.problem, Wrong::NotAnArray, arg.index, object);
  Borrowed& borrowed = attempt.borrowed();
  borrowed.saw_python = borrowed.foreign = true;
  return bind_ref(target, arg, borrowed.add(arg.index, std::move(array)), attempt.frame);
}

}  // namespace ferrule::python
