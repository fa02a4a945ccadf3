#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>

#include "../common/errors.h"
#include "array_object.h"
#include "call/scalar.h"
#include "result_memory.h"

namespace ferrule::python {
namespace {

// An array over foreign memory that `base` (a reference, taken also on failure) keeps alive.
PyObject* array_over(PyArray_Descr* descr, int rank, const int64_t* shape, const int64_t* byte_strides, void* data,
                     int flags, PyObject* base) {
  Py_INCREF(descr);
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, reinterpret_cast<const npy_intp*>(shape),
                                         reinterpret_cast<const npy_intp*>(byte_strides), data, flags, nullptr);
  if (array == nullptr) {
    Py_DECREF(base);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), base) == 0) return array;
  Py_DECREF(array);
  return nullptr;
}

void free_capsule(PyObject* capsule) { FreeMemory()(PyCapsule_GetPointer(capsule, nullptr)); }

PyObject* dynamic_array(PyArray_Descr* descr, MadeReturn& made) {
  PyObject* owner = PyCapsule_New(made.data.get(), nullptr, free_capsule);
  if (owner == nullptr) return nullptr;
  void* data = made.data.release();
  return array_over(descr, static_cast<int>(made.shape.size()), made.shape.data(), nullptr, data, NPY_ARRAY_CARRAY,
                    owner);
}

// What keeps the memory of a viewed argument: itself, or for other objects than ndarrays an fr.Array that holds what
// the object lends, for the call gives its own loan back.
PyObject* base_of_view(const Target& target, const ArgPlan& arg, void* pointer, PyObject* viewed, bool* writable) {
  if (PyArray_Check(viewed)) {
    *writable = PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(viewed));
    return Py_NewRef(viewed);
  }
  const char* name = target.plan().module->name;
  PyObject* base = as_array(viewed, name, arg.declared->name);
  if (base == nullptr) return nullptr;
  *writable = array_of(base)->writable;
  if (array_of(base)->data == pointer) return base;
  Py_DECREF(base);
  raise_from(
      user_error(fmt::format("{}(): '{}' has other memory each time that it is exported, so no view of it can be "
                             "returned; pass numpy.asarray({}).",
                             name, arg.declared->name, arg.declared->name),
                 Builtin::Buffer));
  return nullptr;
}

PyObject* view_of(const Target& target, const ArgPlan& arg, void* pointer, PyObject* viewed, MadeReturn& made) {
  for (int64_t& stride : made.strides) stride *= arg.item;
  bool writable = false;
  PyObject* base = base_of_view(target, arg, pointer, viewed, &writable);
  if (base == nullptr) return nullptr;
  PyArray_Descr* descr = nullptr;
  if (PyArray_Check(viewed)) {
    descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(viewed));
    Py_INCREF(descr);
  } else {
    descr = descr_of(arg.dtype);  // NumPy has it: it is that of a result
  }
  PyObject* view = array_over(descr, static_cast<int>(made.shape.size()), made.shape.data(), made.strides.data(),
                              static_cast<char*>(pointer) + made.byte_offset, writable ? NPY_ARRAY_WRITEABLE : 0, base);
  Py_DECREF(descr);
  return view;
}

PyObject* made_result(const Target& target, size_t index, Frame& frame, FrCallCtx& ctx, PyObject* const* given) {
  const ReturnPlan& r = target.plan().returns[index];
  for (MadeReturn& made : ctx.get_extras().returns) {
    if (made.index != static_cast<int32_t>(index)) continue;
    if (made.data != nullptr) return dynamic_array(target.return_descrs[index], made);
    const ArgPlan& arg = target.plan().args[static_cast<size_t>(made.arg)];
    return view_of(target, arg, frame.pointers[made.arg], given[made.arg], made);
  }
  raise_from(internal_error(std::string(target.plan().module->name) + "() ended without making its result " +
                            (r.declared->name != nullptr ? r.declared->name : std::to_string(index)) + "."));
  return nullptr;
}

// A handle that the native function gave, or the struct that it filled.
PyObject* struct_or_object(DType dtype, const void* slot, PyObject*& made) {
  if (dtype == DType::Record) return PyArray_Return(reinterpret_cast<PyArrayObject*>(std::exchange(made, nullptr)));
  PyObject* handle = read_as<PyObject*>(slot);
  return Py_NewRef(handle != nullptr ? handle : Py_None);
}

PyObject* build_one(const Target& target, size_t index, Frame& frame, FrCallCtx& ctx, PyObject* const* given,
                    PyObject** made) {
  const ReturnPlan& r = target.plan().returns[index];
  const void* slot = &frame.scalars()[target.args.size() + index];
  switch (r.kind) {
    case FR_RETURN_ARRAY:
      return std::exchange(made[index], nullptr);
    case FR_RETURN_SCALAR:
      if ((r.declared->flags & FR_RETURN_WEAK) != 0) return python_number(r.dtype, slot);
      if (r.dtype >= DType::Record) return struct_or_object(r.dtype, slot, made[index]);
      return PyArray_Scalar(const_cast<void*>(slot), target.return_descrs[index], nullptr);
    case FR_RETURN_ARGUMENT:
      return Py_NewRef(given[r.arg]);
    case FR_RETURN_NONE:
      return Py_NewRef(Py_None);
    default:
      return made_result(target, index, frame, ctx, given);
  }
}

// NumPy's refusal to make an array, which is the Python error now, as one of the call.
void refuse_result(const Target& target, int rank, const int64_t* shape) {
  const Builtin builtin = PyErr_ExceptionMatches(PyExc_MemoryError) ? Builtin::Memory : Builtin::Value;
  nanobind::python_error raised;
  raise_from(user_error(
      fmt::format("{}(): A result of shape ({}{}) cannot be made: {}", target.plan().module->name,
                  fmt::join(shape, shape + rank, ", "), rank == 1 ? "," : "", nanobind::str(raised.value()).c_str()),
      builtin));
}

}  // namespace

PyObject* new_array(const Target& target, PyArray_Descr* descr, int rank, const int64_t* shape) {
  PyObject* array = array_for_result(descr, rank, shape);
  if (array == nullptr) refuse_result(target, rank, shape);
  return array;
}

PyObject* python_number(DType dtype, const void* slot) {
  if (dtype == DType::Bool) return PyBool_FromLong(read_as<uint8_t>(slot));
  if (dtype == DType::U64) return PyLong_FromUnsignedLongLong(read_as<uint64_t>(slot));
  if (is_integer(dtype)) return PyLong_FromLongLong(scalar_as_int(slot, dtype));
  if (is_float(dtype)) return PyFloat_FromDouble(scalar_as_double(slot, dtype));
  if (dtype == DType::C128)
    return PyComplex_FromDoubles(read_as<double>(slot), read_as<double>(static_cast<const char*>(slot) + 8));
  return PyComplex_FromDoubles(read_as<float>(slot), read_as<float>(static_cast<const char*>(slot) + 4));
}

bool allocate_results(const Target& target, Frame& frame, PyObject** made) {
  const CallPlan& plan = target.plan();
  const size_t n_args = plan.args.size();
  for (size_t i = 0; i < plan.returns.size(); ++i) {
    const ReturnPlan& r = plan.returns[i];
    made[i] = nullptr;
    frame.pointers[n_args + i] = nullptr;
    if (r.kind == FR_RETURN_ARRAY) {
      made[i] = new_array(target, target.return_descrs[i], r.rank, frame.extents() + r.first_extent);
      if (made[i] == nullptr) {
        for (size_t k = 0; k < i; ++k) Py_XDECREF(made[k]);
        return false;
      }
      frame.pointers[n_args + i] = PyArray_DATA(reinterpret_cast<PyArrayObject*>(made[i]));
    } else if (r.kind == FR_RETURN_SCALAR) {
      ScalarSlot* slot = &frame.scalars()[n_args + i];
      std::memset(slot, 0, sizeof *slot);
      frame.pointers[n_args + i] = slot;
    }
  }
  return true;
}

void release_results(const Target& target, PyObject** made) {
  for (size_t i = 0; i < target.plan().returns.size(); ++i) Py_CLEAR(made[i]);
}

PyObject* build_results(const Target& target, Frame& frame, FrCallCtx& ctx, PyObject* const* given, PyObject** made) {
  const CallPlan& plan = target.plan();
  if (!plan.returns_tuple) return build_one(target, 0, frame, ctx, given, made);
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(plan.returns.size()));
  for (size_t i = 0; tuple != nullptr && i < plan.returns.size(); ++i) {
    PyObject* value = build_one(target, i, frame, ctx, given, made);
    if (value == nullptr)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), value);
  }
  if (tuple == nullptr) release_results(target, made);
  return tuple;
}

}  // namespace ferrule::python
