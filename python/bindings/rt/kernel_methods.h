// Methods of Kernel besides the call itself, for its method table: state and workspaces (kernel_state.cpp), the nested
// layout of arguments (user_call.cpp), the end (unload.cpp). Each gives a new reference, or null with a Python error
// set.
#pragma once

#include <Python.h>

#include <exception>

#include "attempt.h"

namespace ferrule::python {

PyObject* kernel_initialize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* kernel_finalize(PyObject* self, PyObject* none);
PyObject* kernel_workspace_sizes(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* kernel_set_workspace(PyObject* self, PyObject* args);
PyObject* kernel_user_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs);
PyObject* kernel_unload(PyObject* self, PyObject* none);

// False, with the Python error set that says so, for a kernel that was unloaded.
bool require_loaded(PyObject* self);

// A member of the handle that may wait for other threads, without the interpreter's lock.
template <class F>
void unlocked(F member) {
  std::exception_ptr failed;
  Py_BEGIN_ALLOW_THREADS;
  try {
    member();
  } catch (...) {
    failed = std::current_exception();
  }
  Py_END_ALLOW_THREADS;
  if (failed) std::rethrow_exception(failed);
}

// Ends an attempt in every way out of a function.
struct GivenBack {
  Attempt& attempt;
  ~GivenBack() { attempt.give_back(); }
};

// As CPython's method tables want a METH_FASTCALL | METH_KEYWORDS function.
inline PyCFunction with_keywords(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace ferrule::python
