#include "callbacks.h"

#include <fmt/format.h>

#include "../common/errors.h"
#include "advice.h"
#include "bind_args.h"
#include "element_types.h"
#include "or_stay.h"
#include "results.h"
#include "runtime/pool.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

// "f(): the callback 'cb' <text>"
void raise_of(const Target& target, int32_t arg, Builtin builtin, const std::string& text) {
  const char* name = target.plan().args[static_cast<size_t>(arg)].declared->name;
  raise_from(user_error(fmt::format("{}(): the callback '{}' {}", target.plan().module->name, name, text), builtin));
}

// Gives an array that outlives its call memory of its own; views of it, which nothing can reach, keep the old memory.
bool give_own_memory(PyObject* array) {
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  PyObject* copy = PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(array), NPY_CORDER);
  if (copy == nullptr) return false;
  fields->data = PyArray_BYTES(reinterpret_cast<PyArrayObject*>(copy));
  Py_XSETREF(fields->base, copy);
  return true;
}

}  // namespace

Callables::~Callables() {
  for (PyObject* object : results_) Py_DECREF(object);
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(trace_);
}

bool Callables::restore() {
  if (type_ == nullptr) return false;
  PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr), std::exchange(trace_, nullptr));
  return true;
}

int32_t Callables::region(void* self, const ParallelRegion& region) {
  auto* own = static_cast<Callables*>(self);
  const auto run = [&] { return parallel_for(region.n, region.grain, region.threads, region.body, region.closure); };
  if (own->holder_ != std::this_thread::get_id()) return run();
  struct Unlocked {
    Callables* own;
    PyThreadState* state = (own->holder_ = std::thread::id(), PyEval_SaveThread());
    ~Unlocked() {
      or_stay([&] { PyEval_RestoreThread(state); });
      own->keep_lock();
    }
  };
  const Unlocked unlocked{own};
  return run();
}

int32_t Callables::enter(void* self, FrCallCtx*, int32_t arg, int32_t n, void* const* values, void* result) {
  return or_stay([&] { return enter_python(self, arg, n, values, result); });
}

int32_t Callables::enter_python(void* self, int32_t arg, int32_t n, void* const* values, void* result) {
  const int64_t iteration = current_iteration();
  auto* own = static_cast<Callables*>(self);
  if (own->holder_ == std::this_thread::get_id()) return own->enter_locked(arg, n, values, result, iteration);
  const PyGILState_STATE state = PyGILState_Ensure();
  const int32_t status = own->enter_locked(arg, n, values, result, iteration);
  PyGILState_Release(state);
  return status;
}

int32_t Callables::enter_locked(int32_t arg, int32_t n, void* const* values, void* result, int64_t iteration) {
  // After an exception nothing more is called, but what comes before it in the order of a parallel region.
  if (type_ != nullptr && (iteration < 0 || iteration >= iteration_)) return FR_STATUS_CALLBACK;
  bool ok = false;
  try {
    ok = call(arg, n, values, result);
  } catch (...) {
    raise_current_exception();
  }
  if (ok) return FR_OK;
  keep_exception(iteration);
  return FR_STATUS_CALLBACK;
}

void Callables::keep_exception(int64_t iteration) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  // Another thread may have raised meanwhile.
  const bool earlier = type_ == nullptr || (iteration >= 0 && iteration < iteration_);
  if (earlier) {
    std::swap(type, type_);
    std::swap(value, value_);
    std::swap(trace, trace_);
    iteration_ = iteration;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

PyObject* Callables::make_array(const CallbackPlan::Parameter& p, int32_t arg, void* data) {
  int64_t shape[FR_MAX_RANK];
  const auto rank = static_cast<int>(p.extents.size());
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    const Evaluated extent = p.extents[static_cast<size_t>(axis)].eval(frame_.symbols, frame_.pointers);
    if (extent.overflow || extent.value < 0) {
      raise_of(target_, arg, Builtin::Value,
               fmt::format("takes the array '{}', whose extent along axis {} would be {}.", p.declared->name, axis,
                           extent.overflow ? "beyond 64 bits" : std::to_string(extent.value)));
      return nullptr;
    }
    shape[axis] = extent.value;
    empty |= extent.value == 0;
  }
  if (data == nullptr && !empty) {
    raise_of(target_, arg, Builtin::Value, fmt::format("was given no memory for the array '{}'.", p.declared->name));
    return nullptr;
  }
  PyArray_Descr* descr = new_descr(p.dtype, "", target_.plan().module->name);
  if (descr == nullptr) return nullptr;
  static int64_t nowhere;  // NumPy takes memory of its own for a null pointer
  return PyArray_NewFromDescr(&PyArray_Type, descr, rank, reinterpret_cast<npy_intp*>(shape), nullptr,
                              data != nullptr ? data : &nowhere, p.written ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO,
                              nullptr);
}

bool Callables::make_arguments(const CallbackPlan& plan, int32_t arg, void* const* values, PyObject** made) {
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const CallbackPlan::Parameter& p = plan.parameters[i];
    if (p.kind == FR_ARG_ARRAY)
      made[i] = make_array(p, arg, values[i]);
    else if (p.kind == FR_ARG_SCALAR)
      made[i] = python_number(p.dtype, values[i]);
    else
      made[i] = Py_NewRef(values[i] != nullptr ? static_cast<PyObject*>(values[i]) : Py_None);
    if (made[i] != nullptr) continue;
    for (size_t k = 0; k < i; ++k) Py_DECREF(made[k]);
    return false;
  }
  return true;
}

bool Callables::take_result(const CallbackPlan& plan, int32_t arg, PyObject* given, void* result) {
  if (!plan.has_result) return true;
  if (plan.result == DType::Object) {
    results_.push_back(given);
    Py_INCREF(given);
    write_as(result, given);
    return true;
  }
  ArgPlan number{};
  number.dtype = plan.result;
  number.item = item_size(plan.result);
  Problem problem;
  const Outcome stored = store_number(number, given, target_.plan().strict_scalars, result, problem);
  if (stored != Outcome::Miss) return stored == Outcome::Done;
  if (problem.wrong == Wrong::ScalarRange)
    raise_of(target_, arg, Builtin::Overflow,
             fmt::format("returned {}, which is out of range for {}.", short_repr(given), name_of(plan.result)));
  else
    raise_of(target_, arg, Builtin::Type,
             fmt::format("returned {}, but {} is expected.", described_object(given), number_text(plan.result)));
  return false;
}

bool Callables::call(int32_t arg, int32_t n, void* const* values, void* result) {
  const CallPlan& all = target_.plan();
  const bool known =
      arg >= 0 && static_cast<size_t>(arg) < all.args.size() && all.args[static_cast<size_t>(arg)].callback >= 0;
  if (!known) {
    raise_from(internal_error(fmt::format("{}(): argument {} is no callback.", all.module->name, arg)));
    return false;
  }
  const CallbackPlan& plan = all.callbacks[static_cast<size_t>(all.args[static_cast<size_t>(arg)].callback)];
  const size_t count = plan.parameters.size();
  if (n < 0 || static_cast<size_t>(n) != count) {
    raise_of(target_, arg, Builtin::Type, fmt::format("is called with {} values, but takes {}.", n, count));
    return false;
  }
  auto* callable = static_cast<PyObject*>(frame_.pointers[arg]);
  if (callable == nullptr) {
    raise_of(target_, arg, Builtin::Type, "is None, but the native function calls it.");
    return false;
  }
  SmallBuffer<PyObject*, 9> given(count + 1);  // the place before the first is the callee's to use
  PyObject** made = given.data() + 1;
  if (!make_arguments(plan, arg, values, made)) return false;
  PyObject* returned = PyObject_Vectorcall(callable, made, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool ok = returned != nullptr;
  const bool takes_object = plan.has_result && plan.result == DType::Object;
  for (size_t i = 0; i < count; ++i) {
    // A result that nobody takes ends with this call; one that is taken lives until the function ends.
    const Py_ssize_t dropped = returned == made[i] && !takes_object ? 1 : 0;
    const bool kept = plan.parameters[i].kind == FR_ARG_ARRAY && Py_REFCNT(made[i]) > 1 + dropped;
    if (kept && give_own_memory(made[i]) && type == nullptr) {
      raise_of(target_, arg, Builtin::Buffer,
               fmt::format("keeps the array '{}', whose memory is valid during its call alone; keep a copy.",
                           plan.parameters[i].declared->name));
      PyErr_Fetch(&type, &value, &trace);
      ok = false;
    }
    Py_DECREF(made[i]);
  }
  PyErr_Restore(type, value, trace);
  if (ok) ok = take_result(plan, arg, returned, result);
  Py_XDECREF(returned);
  return ok;
}

}  // namespace ferrule::python
