// One call of a target from Python: bind, run, build the results.
#pragma once

#include "problem.h"

namespace ferrule::python {

// What a miss is reported with; `problem.object` is borrowed from the call.
struct Attempt {
  explicit Attempt(const CallPlan& plan) : frame(plan) {}
  Frame frame;
  Problem problem;
};

// Calls `target` with the arguments of a vectorcall. Done: *result is the new reference that the call returns. After a
// miss nothing has changed and no Python error is set. Without `result` nothing is run: Done then means that the call
// would be. The caller keeps the target alive meanwhile.
Outcome call_target(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Attempt& attempt,
                    PyObject** result);

}  // namespace ferrule::python
