// Scalar arguments: what is taken for which declared type. Two sets of rules: exact (a specialisation made from a
// sample) and declared (annotations), where values are converted if nothing surprising can happen.
#include <fmt/format.h>

#include <cmath>

#include "advice.h"
#include "base/entries.h"
#include "bind_args.h"
#include "call/scalar.h"
#include "element_types.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// The dtype of a NumPy scalar; empty for other objects and for dtypes that kernels do not take.
std::optional<DType> dtype_of_scalar(PyObject* object) {
  if (!PyArray_CheckScalar(object) || PyArray_Check(object)) return std::nullopt;
  PyArray_Descr* descr = PyArray_DescrFromScalar(object);
  if (descr == nullptr) {
    PyErr_Clear();  // a void scalar without a descriptor is no number
    return std::nullopt;
  }
  const std::optional<DType> dtype = element_type_of(descr);
  Py_DECREF(descr);
  return dtype;
}

Outcome store_python_int(const ArgPlan& arg, PyObject* integer, void* slot, PyObject* shown, Problem& problem) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (value == -1 && overflow == 0 && PyErr_Occurred() != nullptr) return Outcome::Raised;
  const IntegerRange range = range_of(arg.dtype);
  if (overflow == 0) {
    if (value < range.low || (value > 0 && static_cast<uint64_t>(value) > range.high))
      return miss(problem, Wrong::ScalarRange, arg.index, shown);
    store_integer(slot, arg.dtype, static_cast<uint64_t>(value));
    return Outcome::Done;
  }
  if (overflow < 0 || range.high <= INT64_MAX) return miss(problem, Wrong::ScalarRange, arg.index, shown);
  const uint64_t large = PyLong_AsUnsignedLongLong(integer);
  if (large == ~uint64_t{0} && PyErr_Occurred() != nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Outcome::Raised;
    PyErr_Clear();  // told with the argument's name instead
    return miss(problem, Wrong::ScalarRange, arg.index, shown);
  }
  store_integer(slot, arg.dtype, large);
  return Outcome::Done;
}

// Through __index__; the objects that have one and are refused all the same are sorted out by the callers.
Outcome store_index(const ArgPlan& arg, PyObject* object, void* slot, Problem& problem) {
  PyObject* integer = PyNumber_Index(object);
  if (integer == nullptr) return Outcome::Raised;
  const Outcome stored = store_python_int(arg, integer, slot, object, problem);
  Py_DECREF(integer);
  return stored;
}

Outcome bind_declared_int(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  const std::optional<DType> numpy = dtype_of_scalar(object);
  const bool is_int = PyLong_Check(object) && !PyBool_Check(object);
  const bool accepted =
      is_int ||
      (!strict && ((numpy && is_integer(*numpy)) || (!numpy && !PyArray_CheckScalar(object) && !PyBool_Check(object) &&
                                                     !PyArray_Check(object) && PyIndex_Check(object))));
  if (!accepted) return miss(problem, Wrong::ScalarKind, arg.index, object);
  return store_index(arg, object, slot, problem);
}

Outcome bind_declared_bool(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  if (PyBool_Check(object))
    write_as<uint8_t>(slot, object == Py_True);
  else if (!strict && dtype_of_scalar(object) == DType::Bool)
    write_as<uint8_t>(slot, PyArrayScalar_VAL(object, Bool) != 0);
  else
    return miss(problem, Wrong::ScalarKind, arg.index, object);
  return Outcome::Done;
}

Outcome bind_declared_real(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  const std::optional<DType> numpy = dtype_of_scalar(object);
  const bool plain = PyFloat_CheckExact(object);
  const bool widened = (PyFloat_Check(object) || PyLong_Check(object)) && !PyBool_Check(object);
  const bool of_numpy = numpy && *numpy != DType::Bool && *numpy != DType::Object && !is_complex(*numpy);
  if (!plain && (strict || !(widened || of_numpy))) return miss(problem, Wrong::ScalarKind, arg.index, object);
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Outcome::Raised;
    PyErr_Clear();  // told with the argument's name instead
    return miss(problem, Wrong::ScalarRange, arg.index, object);
  }
  store_real(slot, arg.dtype, value);
  return Outcome::Done;
}

Outcome bind_declared_complex(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  const std::optional<DType> numpy = dtype_of_scalar(object);
  const bool plain = PyComplex_CheckExact(object);
  const bool widened =
      (PyComplex_Check(object) || PyFloat_Check(object) || PyLong_Check(object)) && !PyBool_Check(object);
  if (!plain && (strict || !(widened || (numpy && *numpy != DType::Bool))))
    return miss(problem, Wrong::ScalarKind, arg.index, object);
  const Py_complex value = PyComplex_AsCComplex(object);
  if (value.real == -1.0 && PyErr_Occurred() != nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Outcome::Raised;
    PyErr_Clear();  // told with the argument's name instead
    return miss(problem, Wrong::ScalarRange, arg.index, object);
  }
  const int half = arg.item / 2;
  store_real(slot, half == 4 ? DType::F32 : DType::F64, value.real);
  store_real(static_cast<char*>(slot) + half, half == 4 ? DType::F32 : DType::F64, value.imag);
  return Outcome::Done;
}

Outcome bind_declared(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  if (arg.dtype == DType::Bool) return bind_declared_bool(arg, object, strict, slot, problem);
  if (is_integer(arg.dtype)) return bind_declared_int(arg, object, strict, slot, problem);
  if (is_float(arg.dtype)) return bind_declared_real(arg, object, strict, slot, problem);
  return bind_declared_complex(arg, object, strict, slot, problem);
}

// Weak: exactly Python's bool, int, float or complex. Strong: exactly the NumPy scalar of the dtype.
Outcome bind_exact(const ArgPlan& arg, PyObject* object, void* slot, Problem& problem) {
  if (!arg.weak) {
    if (dtype_of_scalar(object) != arg.dtype) return miss(problem, Wrong::ScalarKind, arg.index, object);
    PyArray_ScalarAsCtype(object, slot);
    return Outcome::Done;
  }
  PyTypeObject* expected = arg.dtype == DType::Bool ? &PyBool_Type
                           : is_integer(arg.dtype)  ? &PyLong_Type
                           : is_float(arg.dtype)    ? &PyFloat_Type
                                                    : &PyComplex_Type;
  if (!Py_IS_TYPE(object, expected)) return miss(problem, Wrong::ScalarKind, arg.index, object);
  return bind_declared(arg, object, false, slot, problem);
}

}  // namespace

Outcome store_number(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  return bind_declared(arg, object, strict, slot, problem);
}

namespace {

// Arrays of rank 0 count as their element, but not those of objects: what they hold has no type that was given.
Outcome bind_converted(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (strict || !PyArray_Check(object) || PyArray_NDIM(array) != 0 || PyArray_ISOBJECT(array))
    return bind_declared(arg, object, strict, slot, problem);
  const int masked = PyArray_CheckExact(object) ? 0 : is_masked_array(object);
  if (masked != 0) return masked < 0 ? Outcome::Raised : miss(problem, Wrong::Masked, arg.index, object);
  PyObject* scalar = PyArray_Scalar(PyArray_DATA(array), PyArray_DESCR(array), object);
  if (scalar == nullptr) return Outcome::Raised;
  const Outcome bound = bind_declared(arg, scalar, false, slot, problem);
  Py_DECREF(scalar);
  if (bound == Outcome::Miss) problem.object = object;
  return bound;
}

// Puts function and argument before what the object's own __index__ or __float__ raised.
void name_failure(const Target& target, const char* name, DType dtype) {
  refuse_with_reason({target.plan().module->name, name}, Builtin::Type, "cannot be read as " + number_text(dtype));
}

}  // namespace

std::optional<int64_t> take_size(const Target& target, uint32_t symbol, PyObject* value) {
  const char* name = entry_at(target.plan().module->symbols, symbol).name;
  const Asked asked = {target.plan().module->name, name};
  ArgPlan size{};
  size.dtype = DType::I64;
  size.item = item_size(DType::I64);
  int64_t number = 0;
  Problem problem;
  const Outcome bound = bind_converted(size, value, target.plan().strict_scalars, &number, problem);
  if (bound == Outcome::Done) return number;
  if (bound == Outcome::Raised)
    name_failure(target, name, DType::I64);
  else if (problem.wrong == Wrong::ScalarRange)
    refuse(asked, Builtin::Overflow, fmt::format("= {} is out of range for int64.", number_repr(value)));
  else if (problem.wrong == Wrong::Masked)
    refuse(asked, Builtin::Type, "is a masked array, whose mask would be ignored.");
  else
    refuse(asked, Builtin::Type,
           fmt::format("is {}, but {} is expected{}.", described_object(value), number_text(DType::I64),
                       number_advice(DType::I64, name, value)));
  return std::nullopt;
}

Outcome bind_scalar_object(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem) {
  const CallPlan& plan = target.plan();
  void* slot = &frame.scalars()[arg.index];
  if (PyFloat_CheckExact(object) && arg.dtype == DType::F64 && (arg.weak || !target.exact)) {
    write_as(slot, PyFloat_AS_DOUBLE(object));
  } else if (object == Py_None && arg.optional) {
    bind_none(arg, frame);
    return Outcome::Done;
  } else {
    const Outcome bound = target.exact ? bind_exact(arg, object, slot, problem)
                                       : bind_converted(arg, object, plan.strict_scalars, slot, problem);
    if (bound == Outcome::Raised) name_failure(target, arg.declared->name, arg.dtype);
    if (bound != Outcome::Done) return bound;
  }
  return bind_scalar(plan, arg, frame) ? Outcome::Done : Outcome::Miss;
}

}  // namespace ferrule::python
