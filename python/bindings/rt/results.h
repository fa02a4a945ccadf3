// Results of a run as Python objects.
#pragma once

#include "target.h"

namespace ferrule::python {

// Allocates the arrays whose extents are known and tells the module where they and the scalars lie (Frame::pointers
// after the arguments). `made` has one entry per return, null where nothing is allocated. False with a Python error
// set, and nothing kept.
bool allocate_results(const Target& target, Frame& frame, PyObject** made);

// A new array of NumPy's own memory in C order; null with the refusal of the call set.
PyObject* new_array(const Target& target, PyArray_Descr* descr, int rank, const int64_t* shape);

// The number at `slot` as a Python bool, int, float or complex.
PyObject* python_number(DType dtype, const void* slot);

void release_results(const Target& target, PyObject** made);

// The value that the call returns: the one result, or a tuple. There is at least one. Takes `made`, also where it fails
// (null with a Python error set). `given` are the arguments, for results that are one of them.
PyObject* build_results(const Target& target, Frame& frame, FrCallCtx& ctx, PyObject* const* given, PyObject** made);

}  // namespace ferrule::python
