// The Python type FunctionBase: what a decorated function is. It tries its specialisations and enters Python on a miss.
#pragma once

#include <Python.h>

namespace ferrule::python {

bool add_function_type(PyObject* module);

}  // namespace ferrule::python
