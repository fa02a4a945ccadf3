#include "foreign_array.h"

#include <fmt/format.h>

#include "../common/errors.h"
#include "array/item_type.h"
#include "array/tensor.h"
#include "element_types.h"
#include "numpy_api.h"

namespace ferrule::python {
namespace {

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// 1 with a new reference, 0 where the object has no such attribute, -1 with a Python error set.
int attribute(PyObject* object, const char* name, PyObject** value) {
  *value = PyObject_GetAttrString(object, name);
  if (*value != nullptr) return 1;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
  PyErr_Clear();
  return 0;
}

}  // namespace

void with_interpreter(void (*release)(void*), void* what) {
  // A thread that lacks the lock while the interpreter ends would wait forever.
  if (Py_IsInitialized() == 0 || (is_finalizing() && PyGILState_Check() == 0)) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  release(what);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
}

std::shared_ptr<void> owner_of(PyObject* object) {
  return std::shared_ptr<void>(Py_NewRef(object), [](void* kept) {
    with_interpreter([](void* o) { Py_DECREF(static_cast<PyObject*>(o)); }, kept);
  });
}

bool shows_its_mask(PyObject* ndarray, const Asked& asked) {
  const int masked = is_masked_array(ndarray);
  if (masked > 0) refuse(asked, Builtin::Type, "is a masked array, whose mask would be ignored.");
  return masked == 0;
}

bool take_ndarray(PyObject* object, const Asked& asked, Array& array) {
  if (!shows_its_mask(object, asked)) return false;
  auto* given = reinterpret_cast<PyArrayObject*>(object);
  const std::optional<DType> dtype = element_type_of(PyArray_DESCR(given));
  if (!dtype.has_value() || *dtype == DType::Object) {
    refuse(asked, Builtin::Type,
           fmt::format("has dtype {}{}.", dtype_text(PyArray_DESCR(given)),
                       PyArray_ISNBO(PyArray_DESCR(given)->byteorder) ? ", which cannot be exchanged" : ""));
    return false;
  }
  const size_t rank = static_cast<size_t>(PyArray_NDIM(given));
  array = {owner_of(object),
           PyArray_DATA(given),
           *dtype,
           {shape_of(given), shape_of(given) + rank},
           {strides_of(given), strides_of(given) + rank},
           PyArray_ISWRITEABLE(given)};
  return true;
}

std::optional<DType> type_of_buffer(const Py_buffer& buffer, const Asked& asked) {
  const ItemType item = parse_format(buffer.format, buffer.itemsize);
  const char* format = buffer.format != nullptr ? buffer.format : "B";
  bool indirect = false;
  for (int axis = 0; buffer.suboffsets != nullptr && axis < buffer.ndim; ++axis)
    indirect |= buffer.suboffsets[axis] >= 0;
  if (item.foreign_order)
    refuse(asked, Builtin::Type,
           fmt::format("has the buffer format '{}' in foreign byte order, but native order is expected.", format));
  else if (!item.dtype.has_value())
    refuse(asked, Builtin::Type,
           fmt::format("has the buffer format '{}' with items of {} bytes, which is no element type.", format,
                       buffer.itemsize));
  else if (indirect)
    refuse(asked, Builtin::Buffer, "is a buffer of pointers (suboffsets), which is no strided array.");
  else
    return item.dtype;
  return std::nullopt;
}

bool take_through_buffer(PyObject* object, const Asked& asked, Array& array) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, buffer.get(), PyBUF_FULL_RO) != 0) {
    refuse_with_reason(asked, "the buffer protocol");
    return false;
  }
  // From here on the buffer is given back whatever happens.
  std::shared_ptr<void> memory(buffer.release(), [](void* lent) {
    with_interpreter(
        [](void* b) {
          PyBuffer_Release(static_cast<Py_buffer*>(b));
          delete static_cast<Py_buffer*>(b);
        },
        lent);
  });
  const Py_buffer& lent = *static_cast<Py_buffer*>(memory.get());
  const std::optional<DType> dtype = type_of_buffer(lent, asked);
  if (!dtype.has_value()) return false;
  std::vector<int64_t> shape, strides;
  if (lent.shape != nullptr)
    shape.assign(lent.shape, lent.shape + lent.ndim);
  else if (lent.ndim == 1)
    shape = {lent.len / lent.itemsize};
  if (lent.strides != nullptr)
    strides.assign(lent.strides, lent.strides + shape.size());
  else
    strides = dense_strides(shape, *dtype);
  array = {std::move(memory), lent.buf, *dtype, std::move(shape), std::move(strides), lent.readonly == 0};
  return true;
}

Taken take_foreign(PyObject* object, const TypeFacts& facts, const Asked& asked, Array& array) {
  const auto taken = [](bool done) { return done ? Taken::Done : Taken::Raised; };
  if (facts.no_array) return Taken::NoArray;
  PyObject* found = nullptr;
  if (facts.dlpack) {
    const int has = attribute(object, "__dlpack__", &found);
    Py_XDECREF(found);
    if (has < 0) refuse_with_reason(asked, "DLPack");
    if (has < 0) return Taken::Raised;
    DlpackRequest request;
    if (has > 0) return taken(take_through_dlpack(object, facts, asked, request, array));
  }
  if (facts.exchange != nullptr) return taken(take_through_table(object, facts, asked, array));
  if (facts.buffer && asked.buffers) return taken(take_through_buffer(object, asked, array));
  if (!facts.interface) return Taken::NoArray;
  const int has = attribute(object, "__array_interface__", &found);
  if (has < 0) refuse_with_reason(asked, "the array interface");
  if (has <= 0) return has == 0 ? Taken::NoArray : Taken::Raised;
  const bool done = take_through_interface(object, found, asked, array);
  Py_DECREF(found);
  return taken(done);
}

}  // namespace ferrule::python
