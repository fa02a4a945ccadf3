#include "watch.h"

namespace ferrule::python {

std::atomic<int> watchers{0};

namespace {

PyObject* watch(PyObject*, PyObject* by) {
  const long step = PyLong_AsLong(by);
  if (step == -1 && PyErr_Occurred() != nullptr) return nullptr;
  watchers += static_cast<int>(step);
  Py_RETURN_NONE;
}

PyMethodDef watch_methods[] = {
    {"_watch", watch, METH_O, "_watch(by)\n--\n\nAdds to the number of those who watch all calls."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* call_watched(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* hooks = PyImport_ImportModule("ferrule.hooks");
  PyObject* positional = hooks != nullptr ? PyTuple_New(nargs) : nullptr;
  PyObject* named = positional != nullptr ? PyDict_New() : nullptr;
  PyObject* result = nullptr;
  bool ok = named != nullptr;
  for (Py_ssize_t i = 0; ok && i < nargs; ++i) PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
  const Py_ssize_t n_names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; ok && k < n_names; ++k)
    ok = PyDict_SetItem(named, PyTuple_GET_ITEM(kwnames, k), args[nargs + k]) == 0;
  if (ok) result = PyObject_CallMethod(hooks, "call", "OOO", self, positional, named);
  Py_XDECREF(positional);
  Py_XDECREF(named);
  Py_XDECREF(hooks);
  return result;
}

bool add_watch_function(PyObject* module) { return PyModule_AddFunctions(module, watch_methods) == 0; }

}  // namespace ferrule::python
