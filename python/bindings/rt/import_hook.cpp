// `import` of an emitted file: its PyInit_ function asks this module for the definition that Python then executes. See
// ferrule/rt/import.h for the other side.
#include <memory>
#include <new>
#include <unordered_map>

#include "../common/errors.h"
#include "bindings.h"
#include "kernel_object.h"
#include "load/module.h"

namespace ferrule::python {
namespace {

// Python keeps no reference to a definition but uses it until the interpreter ends, and again in the next one: it is
// never freed. A module that is imported again has the same one.
struct Definition {
  PyModuleDef def;
  const FrModule* module;
};

int execute(PyObject* module) {
  const PyModuleDef* def = PyModule_GetDef(module);
  PyObject* kernel = nullptr;
  try {
    kernel = make_kernel(adopt_module(reinterpret_cast<const Definition*>(def)->module));
  } catch (...) {
    raise_current_exception();
  }
  if (kernel == nullptr) return -1;
  const int added = PyModule_AddObjectRef(module, "kernel", kernel);
  Py_DECREF(kernel);
  return added;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
                            {Py_mod_gil, Py_MOD_GIL_USED},
#endif
                            {0, nullptr}};

// The hook's type is that of ferrule/rt/import.h: the object that PyInit_ returns, null with a Python error set.
PyObject* define_module(const FrModule* module) try {
  // Under the interpreter's lock, and never destroyed.
  static auto* const definitions = new std::unordered_map<const FrModule*, std::unique_ptr<Definition>>;
  std::unique_ptr<Definition>& definition = (*definitions)[module];
  if (definition == nullptr) {
    definition = std::make_unique<Definition>();
    definition->def = {PyModuleDef_HEAD_INIT, module->name, nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
    definition->module = module;
  }
  return PyModuleDef_Init(&definition->def);
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
}

}  // namespace

bool add_import_hook(PyObject* module) {
  PyObject* capsule = PyCapsule_New(reinterpret_cast<void*>(define_module), "ferrule._rt._import_hook", nullptr);
  if (capsule == nullptr) return false;
  const int added = PyModule_AddObjectRef(module, "_import_hook", capsule);
  Py_DECREF(capsule);
  return added == 0;
}

}  // namespace ferrule::python
