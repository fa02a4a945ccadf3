// Arrays for results: NumPy's own, those of large ones over memory that is used again when the array dies.
#pragma once

#include "numpy_api.h"

namespace ferrule::python {

// A new array in C order, contents undefined; a plain ndarray that owns its memory. Null with a Python error set. The
// reference to the descriptor is taken anew.
PyObject* array_for_result(PyArray_Descr* descr, int rank, const int64_t* shape);

// Adds `_keep_result_memory(bytes)` (the most that is kept; negative: no change; returns what is kept) to a module.
bool add_result_memory(PyObject* module);

}  // namespace ferrule::python
