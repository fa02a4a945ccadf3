#include "traceback.h"

namespace ferrule::python {
namespace {

// The traceback to show, a new reference, perhaps of None; null with a Python error set.
PyObject* shown(PyObject* error, PyObject* traceback) {
  PyObject* errors = PyImport_ImportModule("ferrule.errors");
  if (errors == nullptr) return nullptr;
  PyObject* found = PyObject_CallMethod(errors, "shown_traceback", "OO", error, traceback);
  Py_DECREF(errors);
  return found;
}

[[gnu::cold, gnu::noinline]] void show_less() {
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  PyObject* less = traceback == nullptr ? nullptr : shown(error, traceback);
  if (less == nullptr) {
    PyErr_Clear();  // while the interpreter ends, say: the whole traceback is shown
  } else {
    PyException_SetTraceback(error, less);
    Py_DECREF(traceback);
    traceback = less;
    if (less == Py_None) {
      Py_DECREF(less);
      traceback = nullptr;
    }
  }
  PyErr_Restore(type, error, traceback);
}

}  // namespace

PyObject* with_shown_traceback(PyObject* result) {
  if (result == nullptr) show_less();
  return result;
}

}  // namespace ferrule::python
