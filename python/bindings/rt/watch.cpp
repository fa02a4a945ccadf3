#include "watch.h"

#include "packed_arguments.h"
#include "traceback.h"

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
    {"_watch", watch, METH_O, "_watch(by, /)\n--\n\nAdds to the number of those who watch all calls."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* call_watched(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const PackedArguments packed(args, nargs, kwnames);
  PyObject* hooks = packed.ok() ? PyImport_ImportModule("ferrule.hooks") : nullptr;
  if (hooks == nullptr) return nullptr;
  PyObject* result = PyObject_CallMethod(hooks, "call", "OOO", self, packed.positional, packed.named);
  Py_DECREF(hooks);
  return with_shown_traceback(result);
}

bool add_watch_function(PyObject* module) { return PyModule_AddFunctions(module, watch_methods) == 0; }

}  // namespace ferrule::python
