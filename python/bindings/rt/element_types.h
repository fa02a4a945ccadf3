// Element types that NumPy knows by description alone: structs, objects, and the narrow floats of ml_dtypes.
#pragma once

#include <string>

#include "call/plan.h"
#include "numpy_api.h"

namespace ferrule::python {

// The class of ml_dtypes for bfloat16 or a float8, a new reference; null for other dtypes and where the package is not
// imported, without an error unless PyErr_Occurred(). `import`: import it where nobody has yet, null where it is
// missing.
PyObject* ml_class(DType dtype, bool import);

// The dtype of a descriptor in native byte order as dtype_of() gives it, or Object, or one of ml_dtypes by the identity
// of its class; empty for all others. A Python error is never set.
std::optional<DType> element_type_of(const PyArray_Descr* descr);

// A new reference to the descriptor of a dtype; `literal` is the text of a struct's. Null with a Python error set,
// which names `owner` ("f(): 'x'"), also where ml_dtypes is needed and missing.
PyArray_Descr* new_descr(DType dtype, const char* literal, const std::string& owner);

// "float64", ">f8 in foreign byte order". A Python error is never set.
std::string dtype_text(PyArray_Descr* descr);

// Whether elements of this descriptor are what the argument takes; structs field by field.
bool has_elements_of(const ArgPlan& arg, PyArray_Descr* descr);

// How the elements differ from a struct: "'p': the field 'x' has dtype float32, but float64 is expected."
std::string record_difference(const char* name, const FrRecord& record, PyArray_Descr* descr);

}  // namespace ferrule::python
