// The Python type FunctionBase: what a decorated function is. It tries its specialisations and enters Python on a miss.
#pragma once

#include <Python.h>

namespace ferrule::python {

bool add_function_type(PyObject* module);

// Takes a specialisation out of the function whose list holds it, if any, and drops that reference to it.
void forget_specialisation(PyObject* specialisation);

}  // namespace ferrule::python
