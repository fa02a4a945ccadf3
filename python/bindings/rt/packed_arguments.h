// The arguments of a vectorcall as a tuple and a dict, for Python code that takes them as such.
#pragma once

#include <Python.h>

namespace ferrule::python {

class PackedArguments {
 public:
  PackedArguments(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
      : positional(PyTuple_New(nargs)), named(PyDict_New()) {
    ok_ = positional != nullptr && named != nullptr;
    for (Py_ssize_t i = 0; ok_ && i < nargs; ++i) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    const Py_ssize_t n_names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; ok_ && k < n_names; ++k)
      ok_ = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k), args[nargs + k]) == 0;
  }
  PackedArguments(const PackedArguments&) = delete;
  ~PackedArguments() {
    Py_XDECREF(positional);
    Py_XDECREF(named);
  }
  // False with a Python error set.
  bool ok() const { return ok_; }

  PyObject* const positional;
  PyObject* const named;

 private:
  bool ok_;
};

}  // namespace ferrule::python
