// Element types as Python objects.
#pragma once

#include <Python.h>

#include <optional>

#include "base/dtype.h"

namespace ferrule::python {

// NumPy's dtypes and what makes one, fr.float64 and its like, names, also "bfloat16", "float8_e4m3fn" and
// "float8_e5m2"; null: float64. Empty with a Python error set.
std::optional<DType> dtype_of_object(PyObject* object);

// A new reference to NumPy's dtype; to its name as text where NumPy has none.
PyObject* object_of_dtype(DType dtype);

}  // namespace ferrule::python
