// From Python objects to a filled Frame. Nothing on the way of a call that fits allocates or makes a Python object; a
// miss leaves no trace and no Python error.
#pragma once

#include <optional>

#include "attempt.h"
#include "call/bind.h"

namespace ferrule::python {

// Whether the names are those of the arguments from `nargs` on, in declared order and to the end; remembers them if so.
bool names_in_order(const Target& target, Py_ssize_t nargs, PyObject* kwnames);

// Whether the arguments of a vectorcall lie in declared order already: by position, then by name in the same order.
inline bool in_declared_order(const Target& target, Py_ssize_t nargs, PyObject* kwnames) {
  if (kwnames == nullptr) return nargs == target.n_by_position;
  return (kwnames == target.seen_names && nargs == target.seen_nargs) || names_in_order(target, nargs, kwnames);
}

// Puts the arguments of a vectorcall in declared order into `given` (one per argument, borrowed): by position, by name,
// defaults, and nullptr for hidden ones. Symbols given by name go to the frame, memory for results to what the attempt
// borrows.
Outcome gather(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** given,
               Attempt& attempt);

// The value of a slot, which keeps it alive; null, without an error unless PyErr_Occurred(), where it is unset.
PyObject* value_of_slot(const Variable& variable);

// A borrowed reference; null, without an error unless PyErr_Occurred(), where the variable is unset.
inline PyObject* value_of(const Variable& variable) {
  if (variable.slot) [[unlikely]]
    return value_of_slot(variable);
  if (variable.key != nullptr) [[likely]]
    return PyDict_GetItemWithError(variable.container, variable.key);
  return PyCell_GET(variable.container);
}

// Whether a guarded variable still has an equal value, for those that are not the very object any more.
Outcome compare_variable(const GlobalGuard& guard, PyObject* value, Problem& problem);

// The number that CPython gives a dict anew with each change, so that one that stayed needs no look-up; 0 for a cell
// and where CPython has no such number any more.
inline uint64_t version_of(const Variable& variable) {
#if PY_VERSION_HEX < 0x030C0000
  if (variable.key != nullptr && !variable.slot) [[likely]]
    return reinterpret_cast<PyDictObject*>(variable.container)->ma_version_tag;
#endif
  (void)variable;
  return 0;
}

// Checks the variables that the program read when it was captured.
inline Outcome check_globals(const Target& target, Problem& problem) {
  for (const GlobalGuard& guard : target.globals) {
    const uint64_t version = version_of(guard.variable);
    if (version != 0 && version == guard.seen) [[likely]]
      continue;
    PyObject* value = value_of(guard.variable);
    if (value == guard.expected && (value != nullptr || PyErr_Occurred() == nullptr)) [[likely]] {
      guard.seen = version;
      continue;
    }
    const Outcome same = compare_variable(guard, value, problem);
    if (same != Outcome::Done) return same;
  }
  return Outcome::Done;
}

// Fetches hidden arrays into `given`; these are new references, which the caller releases also after a miss (nullptr
// where none was fetched).
Outcome fetch_hidden(const Target& target, PyObject** given, Problem& problem);

// Takes an array by its steps.
Outcome bind_array_object(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt);

// Takes an array that is no ndarray, through the first way of exchange that its type offers.
Outcome bind_foreign_array(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt);

Outcome bind_scalar_object(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem);

// Stores a number by the rules for declared scalars; `strict` refuses conversions. A miss tells ScalarKind or
// ScalarRange.
Outcome store_number(const ArgPlan& arg, PyObject* object, bool strict, void* slot, Problem& problem);

// The value of a size that the caller gives by name, by the rules for declared int64 scalars; empty with a Python error
// set.
std::optional<int64_t> take_size(const Target& target, uint32_t symbol, PyObject* value);

// Whether two values that a specialisation depends on are the same: identical, or of one type and equal (floats bit by
// bit, so that 0.0 is not -0.0 and a NaN is itself). -1 with a Python error set.
int same_value(PyObject* a, PyObject* b);

// Takes a plain array whose dtype, rank, layout and extents fit at first sight; false, with nothing of consequence
// written, leaves the argument to bind_array_object().
[[gnu::always_inline]] inline bool bind_straight(const ArgTarget& own, PyTypeObject* array_type, PyObject* object,
                                                 int64_t* symbols, void*& pointer, BoundArray& bound) {
  if (!Py_IS_TYPE(object, array_type)) [[unlikely]]
    return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_DESCR(array) != own.descr || PyArray_NDIM(array) != own.rank ||
      (~PyArray_FLAGS(array) & own.straight_flags) != 0) [[unlikely]]
    return false;
  const int64_t* const shape = shape_of(array);
  bound.shape = shape;
  bound.byte_strides = strides_of(array);
  char* const data = PyArray_BYTES(array);
  pointer = data;
  int64_t bytes = own.item;
  for (int32_t axis = 0; axis < own.rank; ++axis) {
    const int64_t extent = shape[axis];
    bytes *= extent;
    symbols[own.axes[axis].defines] = extent;
    if (symbols[own.axes[axis].equals] != extent) [[unlikely]]
      return false;
  }
  char* const low = bytes != 0 ? data : nullptr;
  bound.range = {low, low + bytes};
  return true;
}

inline Outcome miss(Problem& problem, Wrong wrong, int32_t arg, PyObject* object = nullptr, Py_ssize_t got = 0) {
  problem.wrong = wrong;
  problem.arg = arg;
  problem.object = object;
  problem.got = got;
  return Outcome::Miss;
}

}  // namespace ferrule::python
