// Words of refusals: what was given, what is expected, and what to do next. Cold; a Python error is never left set.
#pragma once

#include <string>

#include "call/plan.h"
#include "numpy_api.h"

namespace ferrule::python {

// "a list", "an int", "None".
std::string kind_of_object(PyObject* object);

// The same, and of an ndarray its dtype and shape: "an ndarray of dtype float64 and shape (1,)".
std::string described_object(PyObject* object);

// At most 80 bytes of UTF-8.
std::string short_repr(PyObject* object);

// The same of the integer that an object with __index__ stands for.
std::string number_repr(PyObject* object);

// "a bool", "an integer of type int32".
std::string number_text(DType dtype);

// "an array of dtype float64", "an array of structs with the fields 'x', 'y'".
std::string array_text(const ArgPlan& arg);

// Each of these is empty, or a clause "; pass ..." that ends the sentence, for an object that is no array, an array of
// other elements, a masked array, and an object that is not the number that is expected.
std::string array_advice(const ArgPlan& arg, PyObject* object);
std::string dtype_advice(const ArgPlan& arg, PyArray_Descr* descr);
std::string mask_advice(const ArgPlan& arg);
std::string number_advice(DType dtype, const char* name, PyObject* object);

}  // namespace ferrule::python
