// NumPy's C API for the files of this module: one table, filled by import_numpy_api().
#pragma once

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ferrule_numpy_api
#ifndef FERRULE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <optional>

#include "base/dtype.h"

namespace ferrule::python {

static_assert(sizeof(npy_intp) == sizeof(int64_t), "extents and strides are passed on as they lie in the array");

// Loads the table; false with a Python error set. Before anything else of NumPy's is used.
bool import_numpy_api();

// The dtype of a descriptor in native byte order; empty for what kernels do not take.
std::optional<DType> dtype_of(const PyArray_Descr* descr);

// A new reference to NumPy's descriptor; null for bfloat16 and what element_types.h knows, which NumPy does not have.
PyArray_Descr* descr_of(DType dtype);

// Whether the array is a numpy.ma.MaskedArray; -1 with a Python error set.
int is_masked_array(PyObject* array);

// Whether a subclass of ndarray replaces what the operators do, as numpy.matrix does. -1 with a Python error set.
int has_other_operators(PyObject* array);

inline const int64_t* shape_of(PyArrayObject* array) { return reinterpret_cast<const int64_t*>(PyArray_DIMS(array)); }
inline const int64_t* strides_of(PyArrayObject* array) {
  return reinterpret_cast<const int64_t*>(PyArray_STRIDES(array));
}

}  // namespace ferrule::python
