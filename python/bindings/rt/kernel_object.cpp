#include "kernel_object.h"

#include <cstddef>
#include <new>

#include "../common/errors.h"
#include "base/entries.h"
#include "call_target.h"
#include "kernel_methods.h"
#include "object_support.h"
#include "quick_call.h"
#include "small_buffer.h"
#include "watch.h"

namespace ferrule::python {
namespace {

PyTypeObject* kernel_type = nullptr;  // made once, at import

KernelObject* as_kernel(PyObject* self) { return reinterpret_cast<KernelObject*>(self); }
const CallPlan& plan_of(PyObject* self) { return as_kernel(self)->target->plan(); }

PyObject* kernel_call_slow(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  return call_or_raise(*as_kernel(self)->target, args, PyVectorcall_NARGS(nargsf), kwnames);
}

PyObject* kernel_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (is_watched() || as_kernel(self)->watched) [[unlikely]]
    return call_watched(self, args, nargs, kwnames);
  const Target& target = *as_kernel(self)->target;
  if (may_be_quick(target, nargs, kwnames)) [[likely]]
    return quick_call<kernel_call_slow>(self, args, nargsf, kwnames, target);
  return kernel_call_slow(self, args, nargsf, kwnames);
}

PyObject* new_kernel(PyTypeObject* type, std::shared_ptr<const Module> module) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  KernelObject* kernel = as_kernel(self);
  kernel->vectorcall = kernel_call;
  try {
    kernel->specialisations = new std::vector<PyObject*>;
    kernel->target = new Target;
    if (fill_target(*kernel->target, std::make_shared<Handle>(std::move(module)))) {
      prepare_quick(*kernel->target);
      return self;
    }
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(self);
  return nullptr;
}

// Kernel(path), Kernel(bytes, digest), or Kernel(None, digest) of a module that is mapped already.
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
    } else if (source == Py_None && digest != nullptr) {
      module = mapped_module(digest);
      if (module == nullptr) {
        PyErr_Format(PyExc_LookupError, "No module is mapped under '%s'.", digest);
        return nullptr;
      }
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
  delete kernel->specialisations;
  delete kernel->remains;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

std::string signature_of(PyObject* self) {
  const Remains* remains = as_kernel(self)->remains;
  return remains != nullptr ? remains->signature : signature_text(*plan_of(self).module);
}

PyObject* kernel_repr(PyObject* self) try {
  const char* unloaded = as_kernel(self)->remains != nullptr ? ", unloaded" : "";
  return PyUnicode_FromFormat("<Kernel %s%s>", signature_of(self).c_str(), unloaded);
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* get_signature(PyObject* self, void*) try {
  return PyUnicode_FromString(signature_of(self).c_str());
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* get_name(PyObject* self, void*) {
  const Remains* remains = as_kernel(self)->remains;
  return PyUnicode_FromString(remains != nullptr ? remains->name.c_str() : plan_of(self).module->name);
}

PyObject* get_digest(PyObject* self, void*) {
  const Remains* remains = as_kernel(self)->remains;
  if (remains != nullptr) return PyUnicode_FromString(remains->digest.c_str());
  const char* digest = plan_of(self).module->digest;
  return PyUnicode_FromString(digest != nullptr ? digest : "");
}

PyObject* get_file_digest(PyObject* self, void*) {
  const Remains* remains = as_kernel(self)->remains;
  return PyUnicode_FromString(
      (remains != nullptr ? remains->file_digest : as_kernel(self)->target->handle->module().digest()).c_str());
}

PyObject* get_facts(PyObject* self, void*) {
  PyObject* facts = PyDict_New();
  const auto add = [&](const char* key, const char* text) {
    PyObject* value = facts != nullptr ? PyUnicode_FromString(text) : nullptr;
    if (value == nullptr || PyDict_SetItemString(facts, key, value) < 0) Py_CLEAR(facts);
    Py_XDECREF(value);
  };
  if (const Remains* remains = as_kernel(self)->remains) {
    for (const auto& [key, value] : remains->facts) add(key.c_str(), value.c_str());
  } else {
    const FrModule& module = *plan_of(self).module;
    for (uint32_t i = 0; i < module.n_facts; ++i) add(module.facts[i].key, module.facts[i].value);
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
  if (!require_loaded(self)) return -1;
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
  prepare_quick(*as_kernel(self)->target);
  return 0;
}

PyObject* kernel_set_sites(PyObject* self, PyObject* sites) {
  PyObject* entries = PySequence_Tuple(sites);
  if (entries == nullptr) return nullptr;
  if (!require_loaded(self)) {
    Py_DECREF(entries);
    return nullptr;
  }
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

PyObject* kernel_call_unwatched(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!require_loaded(self)) return nullptr;  // by a hook of this very call
  return call_or_raise(*as_kernel(self)->target, args, nargs, kwnames);
}

// The refusal of a call that would be refused, and nothing else.
PyObject* kernel_check(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  if (!require_loaded(self)) return nullptr;
  const Target& target = *as_kernel(self)->target;
  const InUse in_use(target);
  Attempt attempt(target.plan());
  const GivenBack ended{attempt};
  const Called called = attempt_call<false>(target, args, nargs, kwnames, attempt);
  if (called.outcome == Outcome::Done) Py_RETURN_NONE;
  if (called.outcome == Outcome::Miss) raise_miss(target, attempt.frame, attempt.problem);
  return nullptr;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* get_watched(PyObject* self, void*) { return PyBool_FromLong(as_kernel(self)->watched); }

int set_watched(PyObject* self, PyObject* value, void*) {
  const int given = value == nullptr ? -1 : PyObject_IsTrue(value);
  if (given >= 0) as_kernel(self)->watched = given == 1;
  return given >= 0 ? 0 : -1;
}

PyObject* get_error_check(PyObject* self, void*) { return PyBool_FromLong(as_kernel(self)->target->error_check); }

int set_error_check(PyObject* self, PyObject* value, void*) {
  if (!require_loaded(self)) return -1;
  if (value == nullptr || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "'error_check' is True or False.");
    return -1;
  }
  as_kernel(self)->target->error_check = value == Py_True;
  return 0;
}

PyMethodDef kernel_methods[] = {
    {"_call_unwatched", with_keywords(kernel_call_unwatched), METH_FASTCALL | METH_KEYWORDS,
     "_call_unwatched($self, /, *args, **kwargs)\n--\n\nThe call without those who watch it."},
    {"_check", with_keywords(kernel_check), METH_FASTCALL | METH_KEYWORDS,
     "_check($self, /, *args, **kwargs)\n--\n\nAll checks of a call; raises what it would raise before it runs, runs "
     "nothing."},
    {"initialize", with_keywords(kernel_initialize), METH_FASTCALL | METH_KEYWORDS,
     "initialize($self, /, *args, **kwargs)\n--\n\nRuns the program's initialisation, once; the first call does it "
     "otherwise. "
     "Takes the sizes by name, or the arguments of a call. Other persistent sizes than those of the first time are a "
     "ValueError."},
    {"finalize", kernel_finalize, METH_NOARGS,
     "finalize($self, /)\n--\n\nWaits for running calls, releases the program's state and lets go of the workspaces; a "
     "later "
     "call initialises again."},
    {"workspace_sizes", with_keywords(kernel_workspace_sizes), METH_FASTCALL | METH_KEYWORDS,
     "workspace_sizes($self, /, *args, **kwargs)\n--\n\nBytes by name that a call with these sizes or arguments needs "
     "of each "
     "workspace."},
    {"set_workspace", kernel_set_workspace, METH_VARARGS,
     "set_workspace($self, name, buffer, /)\n--\n\nGives the handle writable contiguous memory, kept until finalize() "
     "or another "
     "one; None takes it back. Size and alignment are checked at each call, which holds the workspaces alone."},
    {"user_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(kernel_user_call)), METH_FASTCALL,
     "user_call($self, /, *args)\n--\n\nThe call with arguments in the nested layout of the signature's user_args."},
    {"unload", kernel_unload, METH_NOARGS,
     "unload($self, /)\n--\n\nEnds this handle: its state and workspaces are released, and every later call or change "
     "of it is a UserRuntimeError. True: nothing else used the module, whose code and data are gone. False: others use "
     "it, so that it stays, or the handle was unloaded before. A UserRuntimeError, with everything as before, while a "
     "call of the handle runs and for what was imported."},
    {"_set_sites", kernel_set_sites, METH_O,
     "_set_sites($self, sites, /)\n--\n\nLocations and messages, by the numbers that the program's errors carry."},
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
    {"error_check", get_error_check, set_error_check,
     "Whether a status of the author's function other than success raises; True unless it is set.", nullptr},
    {"_watched", get_watched, set_watched, nullptr, nullptr},
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
