// Tracebacks without the frames of this package: what a user sees of a refused call is the call, and the program's own
// lines.
#pragma once

#include <Python.h>

namespace ferrule::python {

// Returns `result`. Where it is null, the frames of the package that the error came through first are taken out of its
// traceback; what `ferrule.errors.shown_traceback` says stays.
PyObject* with_shown_traceback(PyObject* result);

}  // namespace ferrule::python
