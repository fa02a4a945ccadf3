// One entry of a Function: a kernel together with what must hold for it besides its guards. Not public in Python.
#pragma once

#include "kernel_object.h"

namespace ferrule::python {

// A Python object so that a call can keep it alive while another thread clears the Function's list.
struct SpecialisationObject {
  PyObject_HEAD PyObject* kernel;
  Target* target;      // shares the kernel's handle
  PyObject* function;  // whose list holds it, borrowed; null where none does
  Py_ssize_t number;   // among all that the function has ever had
};

bool add_specialisation_type(PyObject* module);

// A new reference; null with a Python error set. The others are those of specialise_target() and
// Target.
PyObject* make_specialisation(PyObject* kernel, bool exact, bool overlap_only, PyObject* statics, PyObject* defaults,
                              PyObject* globals, PyObject* hidden, PyObject* finish, Py_ssize_t n_positional_only);

}  // namespace ferrule::python
