// From Python objects to a filled Frame. Nothing on the way of a call that fits allocates or makes a Python object; a
// miss leaves no trace and no Python error.
#pragma once

#include "call/bind.h"
#include "problem.h"

namespace ferrule::python {

// Puts the arguments of a vectorcall in declared order into `given` (one per argument, borrowed): by position, by name,
// defaults, and nullptr for hidden ones. Symbols given by name go to the frame.
Outcome gather(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** given,
               Frame& frame, Problem& problem);

// Checks the variables that the program read when it was captured, and fetches hidden arrays into `given`; these are
// new references, which the caller releases also after a miss (nullptr where none was fetched).
Outcome check_variables(const Target& target, PyObject** given, Problem& problem);

// Every case that the inline path leaves: subclasses, other descriptors of the same dtype, layouts that need a look at
// the strides, None, and everything that is refused.
Outcome bind_array_slowly(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem);

Outcome bind_scalar_object(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem);

// Whether two values that a specialisation depends on are the same: identical, or of one type and equal (floats bit by
// bit, so that 0.0 is not -0.0 and a NaN is itself). -1 with a Python error set.
int same_value(PyObject* a, PyObject* b);

// `own` is the argument's entry in the target.
inline Outcome bind_array_object(const Target& target, const ArgPlan& arg, const ArgTarget& own, PyObject* object,
                                 Frame& frame, Problem& problem) {
  if (Py_IS_TYPE(object, &PyArray_Type)) [[likely]] {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_DESCR(array) == own.descr && PyArray_NDIM(array) == arg.rank &&
        (PyArray_FLAGS(array) & own.sufficient_flags) == own.sufficient_flags) [[likely]]
      return bind_array(target.plan(), arg, frame, PyArray_DATA(array), shape_of(array), strides_of(array))
                 ? Outcome::Done
                 : Outcome::Miss;
  }
  return bind_array_slowly(target, arg, object, frame, problem);
}

inline Outcome miss(Problem& problem, Wrong wrong, int32_t arg, PyObject* object = nullptr, Py_ssize_t got = 0) {
  problem = {wrong, arg, object, got};
  return Outcome::Miss;
}

}  // namespace ferrule::python
