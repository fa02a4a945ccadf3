// One call of a target from Python: bind, run, build the results.
#pragma once

#include "problem.h"

namespace ferrule::python {

// How a call ended; `result` is a new reference, null unless it is Done. After a miss nothing has changed.
struct Called {
  PyObject* result;
  Outcome outcome;
};

// Calls `target` with the arguments of a vectorcall. The caller keeps the target alive meanwhile.
Called call_or_tell(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// The same where a miss is an error: a new reference, or null with a Python error set.
PyObject* call_or_raise(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// Whether a call with these arguments would be accepted; nothing is run.
Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

}  // namespace ferrule::python
