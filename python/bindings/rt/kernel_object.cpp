#include "kernel_object.h"

#include <cstddef>
#include <new>

#include "../common/errors.h"
#include "base/entries.h"
#include "call_target.h"
#include "object_support.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

PyTypeObject* kernel_type = nullptr;  // made once, at import

KernelObject* as_kernel(PyObject* self) { return reinterpret_cast<KernelObject*>(self); }
const CallPlan& plan_of(PyObject* self) { return as_kernel(self)->target->plan(); }

PyObject* kernel_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return call_or_raise(*as_kernel(self)->target, args, PyVectorcall_NARGS(nargsf), kwnames);
}

PyObject* new_kernel(PyTypeObject* type, std::shared_ptr<const Module> module) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  KernelObject* kernel = as_kernel(self);
  kernel->vectorcall = kernel_call;
  try {
    kernel->target = new Target;
    if (fill_target(*kernel->target, std::make_shared<Handle>(std::move(module)))) return self;
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(self);
  return nullptr;
}

// Kernel(path) or Kernel(bytes, digest).
PyObject* kernel_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"source", "digest", nullptr};
  PyObject* source = nullptr;
  const char* digest = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|s:Kernel", const_cast<char**>(names), &source, &digest))
    return nullptr;
  std::shared_ptr<const Module> module;
  try {
    if (PyBytes_Check(source) && digest != nullptr) {
      module = load_module({PyBytes_AS_STRING(source), static_cast<size_t>(PyBytes_GET_SIZE(source))}, digest);
    } else if (digest == nullptr && !PyBytes_Check(source)) {
      PyObject* path = nullptr;
      if (PyUnicode_FSConverter(source, &path) == 0) return nullptr;
      const std::string text(PyBytes_AS_STRING(path), static_cast<size_t>(PyBytes_GET_SIZE(path)));
      Py_DECREF(path);
      module = load_file(text);
    } else {
      PyErr_SetString(PyExc_TypeError, "Kernel takes the path of a module, or its bytes and their digest.");
      return nullptr;
    }
  } catch (...) {
    raise_current_exception();
    return nullptr;
  }
  return new_kernel(type, std::move(module));
}

int kernel_traverse(PyObject* self, visitproc visit, void* arg) {
  KernelObject* kernel = as_kernel(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(kernel->dict);
  return kernel->target != nullptr ? traverse_target(*kernel->target, visit, arg) : 0;
}

int kernel_clear(PyObject* self) {
  Py_CLEAR(as_kernel(self)->dict);
  return 0;
}

void kernel_dealloc(PyObject* self) {
  KernelObject* kernel = as_kernel(self);
  PyObject_GC_UnTrack(self);
  if (kernel->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  Py_CLEAR(kernel->dict);
  if (kernel->target != nullptr) {
    clear_target(*kernel->target);
    delete kernel->target;
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* kernel_repr(PyObject* self) try {
  return PyUnicode_FromFormat("<Kernel %s>", signature_text(*plan_of(self).module).c_str());
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* get_signature(PyObject* self, void*) try {
  return PyUnicode_FromString(signature_text(*plan_of(self).module).c_str());
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(plan_of(self).module->name); }

PyObject* get_digest(PyObject* self, void*) {
  const char* digest = plan_of(self).module->digest;
  return PyUnicode_FromString(digest != nullptr ? digest : "");
}

PyObject* get_file_digest(PyObject* self, void*) {
  return PyUnicode_FromString(as_kernel(self)->target->handle->module().digest().c_str());
}

PyObject* get_facts(PyObject* self, void*) {
  const FrModule& module = *plan_of(self).module;
  PyObject* facts = PyDict_New();
  for (uint32_t i = 0; facts != nullptr && i < module.n_facts; ++i) {
    PyObject* value = PyUnicode_FromString(module.facts[i].value);
    if (value == nullptr || PyDict_SetItemString(facts, module.facts[i].key, value) < 0) Py_CLEAR(facts);
    Py_XDECREF(value);
  }
  return facts;
}

PyObject* get_release_gil(PyObject* self, void*) {
  switch (as_kernel(self)->target->release_gil) {
    case ReleaseGil::Always:
      Py_RETURN_TRUE;
    case ReleaseGil::Never:
      Py_RETURN_FALSE;
    case ReleaseGil::Auto:
      break;
  }
  return PyUnicode_FromString("auto");
}

int set_release_gil(PyObject* self, PyObject* value, void*) {
  ReleaseGil& mode = as_kernel(self)->target->release_gil;
  if (value == Py_True) {
    mode = ReleaseGil::Always;
  } else if (value == Py_False) {
    mode = ReleaseGil::Never;
  } else if (value != nullptr && PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, "auto") == 0) {
    mode = ReleaseGil::Auto;
  } else {
    PyErr_SetString(PyExc_ValueError, "'release_gil' is 'auto', True or False.");
    return -1;
  }
  return 0;
}

PyObject* raise_status(PyObject* self, int32_t status) {
  if (status == FR_OK) Py_RETURN_NONE;
  try {
    raise_from(as_kernel(self)->target->handle->failure(status, {}));
  } catch (...) {
    raise_current_exception();
  }
  return nullptr;
}

PyObject* kernel_initialize(PyObject* self, PyObject* args, PyObject* kwargs) {
  const FrModule& module = *plan_of(self).module;
  if (PyTuple_GET_SIZE(args) != 0) {
    PyErr_SetString(PyExc_TypeError, "Sizes are given by name.");
    return nullptr;
  }
  SmallBuffer<int64_t, 32> symbols(module.n_symbols);
  Py_ssize_t used = 0;
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    symbols[s] = 0;
    PyObject* value = kwargs != nullptr ? PyDict_GetItemString(kwargs, entry_at(module.symbols, s).name) : nullptr;
    if (value == nullptr) continue;
    symbols[s] = PyLong_AsLongLong(value);
    if (symbols[s] == -1 && PyErr_Occurred() != nullptr) return nullptr;
    ++used;
  }
  if (kwargs != nullptr && used != PyDict_GET_SIZE(kwargs)) {
    PyErr_Format(PyExc_TypeError, "'%s' has no such size among %R.", module.name, kwargs);
    return nullptr;
  }
  const std::shared_ptr<Handle> handle = as_kernel(self)->target->handle;
  int32_t status;
  Py_BEGIN_ALLOW_THREADS status = handle->initialize(symbols.data());
  Py_END_ALLOW_THREADS return raise_status(self, status);
}

PyObject* kernel_finalize(PyObject* self, PyObject*) {
  const std::shared_ptr<Handle> handle = as_kernel(self)->target->handle;
  int32_t status;
  Py_BEGIN_ALLOW_THREADS status = handle->finalize();
  Py_END_ALLOW_THREADS return raise_status(self, status);
}

PyObject* kernel_set_sites(PyObject* self, PyObject* sites) {
  PyObject* entries = PySequence_Tuple(sites);
  if (entries == nullptr) return nullptr;
  try {
    std::vector<ErrorSite> table;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entries); ++i) {
      const char *location = nullptr, *message = nullptr;
      PyObject* entry = PyTuple_GET_ITEM(entries, i);
      if (!PyTuple_Check(entry) || !PyArg_ParseTuple(entry, "ss", &location, &message)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "A site is a tuple (location, message) of texts.");
        Py_DECREF(entries);
        return nullptr;
      }
      table.push_back({location, message});
    }
    as_kernel(self)->target->handle->set_sites(std::move(table));
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(entries);
  return PyErr_Occurred() != nullptr ? nullptr : Py_NewRef(Py_None);
}

PyObject* kernel_init_subclass(PyObject* type, PyObject*) {
  inherit_vectorcall(reinterpret_cast<PyTypeObject*>(type), kernel_type);
  Py_RETURN_NONE;
}

PyMethodDef kernel_methods[] = {
    {"initialize", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kernel_initialize)),
     METH_VARARGS | METH_KEYWORDS,
     "initialize(**sizes)\n--\n\nRuns the program's initialisation, once; the first call does it otherwise."},
    {"finalize", kernel_finalize, METH_NOARGS,
     "finalize()\n--\n\nWaits for running calls and releases the program's state; a later call initialises again."},
    {"_set_sites", kernel_set_sites, METH_O,
     "_set_sites(sites)\n--\n\nLocations and messages, by the numbers that the program's errors carry."},
    {"__init_subclass__", kernel_init_subclass, METH_NOARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef kernel_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"signature", get_signature, nullptr, "The arguments, their types and the results, as text.", nullptr},
    {"name", get_name, nullptr, "The program's name.", nullptr},
    {"digest", get_digest, nullptr, "Digest of the program that the module was made from.", nullptr},
    {"file_digest", get_file_digest, nullptr, "Digest of the mapped file's bytes.", nullptr},
    {"facts", get_facts, nullptr, "How the module was built: compiler, flags, target, CPU features.", nullptr},
    {"release_gil", get_release_gil, set_release_gil, "'auto' (long runs let other threads in), True or False.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef kernel_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KernelObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KernelObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char* kKernelDoc =
    "Kernel(source, digest=None)\n--\n\n"
    "A compiled program: call it with the arguments of its signature, by position or by name.\n\n"
    "Calls from several threads at once are safe: each has its own scratch, errors and results.";

PyType_Slot kernel_slots[] = {{Py_tp_new, reinterpret_cast<void*>(kernel_new)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(kernel_dealloc)},
                              {Py_tp_traverse, reinterpret_cast<void*>(kernel_traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(kernel_clear)},
                              {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                              {Py_tp_repr, reinterpret_cast<void*>(kernel_repr)},
                              {Py_tp_methods, kernel_methods},
                              {Py_tp_getset, kernel_getset},
                              {Py_tp_members, kernel_members},
                              {Py_tp_doc, const_cast<char*>(kKernelDoc)},
                              {0, nullptr}};

PyType_Spec kernel_spec = {"ferrule._rt.Kernel", sizeof(KernelObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                           kernel_slots};

}  // namespace

bool add_kernel_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &kernel_spec, nullptr);
  if (type == nullptr) return false;
  kernel_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Kernel", type) == 0;
}

bool is_kernel(PyObject* object) { return PyObject_TypeCheck(object, kernel_type); }

PyObject* make_kernel(std::shared_ptr<const Module> module) { return new_kernel(kernel_type, std::move(module)); }

}  // namespace ferrule::python
