// One call of a target from Python: bind, run, build the results.
#pragma once

#include "problem.h"

namespace ferrule::python {

// What becomes of a call that does not fit: an exception, or Outcome::Miss without one.
enum class OnMiss : uint8_t { Raise, Tell };

// How a call ended; `result` is a new reference, null unless it is Done. After a miss nothing has changed.
struct Called {
  PyObject* result;
  Outcome outcome;
};

// Calls `target` with the arguments of a vectorcall. The caller keeps the target alive meanwhile.
Called call_target(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, OnMiss on_miss);

// Whether a call with these arguments would be accepted; nothing is run.
Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

}  // namespace ferrule::python
