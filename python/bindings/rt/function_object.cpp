#include "function_object.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "../common/errors.h"
#include "call_target.h"
#include "object_support.h"
#include "packed_arguments.h"
#include "quick_call.h"
#include "small_buffer.h"
#include "specialisation.h"
#include "traceback.h"
#include "watch.h"

namespace ferrule::python {
namespace {

PyTypeObject* function_type = nullptr;  // made once, at import

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weakrefs;
  std::vector<PyObject*>* specialisations;  // owned SpecialisationObjects
  PyObject* current;                        // the one that ran last, borrowed; null where there is none
  Py_ssize_t next_number;                   // of a specialisation
  bool annotated;                           // one specialisation, whose refusal is the function's own
};

FunctionObject* as_function(PyObject* self) { return reinterpret_cast<FunctionObject*>(self); }

const Target& target_of(PyObject* specialisation) {
  return *reinterpret_cast<SpecialisationObject*>(specialisation)->target;
}

// Tries one specialisation. While it runs other threads may clear the list: a reference keeps it.
inline Called try_one(PyObject* specialisation, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_INCREF(specialisation);
  Called called{nullptr, Outcome::Raised};
  try {
    const InUse in_use(target_of(specialisation));
    Attempt attempt(target_of(specialisation).plan());
    called = attempt_call<true>(target_of(specialisation), args, nargs, kwnames, attempt);
    if (called.outcome == Outcome::Miss) [[unlikely]]
      attempt.give_back();
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(specialisation);
  return called;
}

// The same where its refusal is the function's own.
PyObject* call_one(PyObject* specialisation, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  Py_INCREF(specialisation);
  PyObject* result = call_or_raise(target_of(specialisation), args, nargs, kwnames);
  Py_DECREF(specialisation);
  return result;
}

// self._miss(args, kwargs)
PyObject* call_miss(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const PackedArguments packed(args, nargs, kwnames);
  if (!packed.ok()) return nullptr;
  return with_shown_traceback(PyObject_CallMethod(self, "_miss", "OO", packed.positional, packed.named));
}

[[gnu::noinline]] PyObject* call_others(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                                        const PyObject* tried) {
  FunctionObject* function = as_function(self);
  // By index, and the size anew each time: comparing guarded values may run Python code that changes the list.
  for (size_t i = 0; i < function->specialisations->size(); ++i) {
    PyObject* specialisation = (*function->specialisations)[i];
    if (specialisation == tried) continue;
    const Called called = try_one(specialisation, args, nargs, kwnames);
    if (called.outcome == Outcome::Miss) continue;
    const bool still_there = i < function->specialisations->size() && (*function->specialisations)[i] == specialisation;
    if (called.outcome == Outcome::Done && still_there) function->current = specialisation;
    return called.result;
  }
  return call_miss(self, args, nargs, kwnames);
}

[[gnu::noinline]] PyObject* call_slow(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FunctionObject* function = as_function(self);
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  PyObject* const current = function->current;
  if (current == nullptr) [[unlikely]]
    return call_others(self, args, nargs, kwnames, nullptr);
  if (function->annotated) return call_one(current, args, nargs, kwnames);
  const Called called = try_one(current, args, nargs, kwnames);
  if (called.outcome == Outcome::Miss) [[unlikely]]
    return call_others(self, args, nargs, kwnames, current);
  return called.result;
}

PyObject* function_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  if (is_watched()) [[unlikely]]
    return call_watched(self, args, nargs, kwnames);
  PyObject* const current = as_function(self)->current;
  // Nothing of Python runs in a quick call, so that nobody clears the list meanwhile.
  if (current != nullptr && may_be_quick(target_of(current), nargs, kwnames)) [[likely]]
    return quick_call<call_slow>(self, args, nargsf, kwnames, target_of(current));
  return call_slow(self, args, nargsf, kwnames);
}

PyObject* function_call_unwatched(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return call_slow(self, args, static_cast<size_t>(nargs), kwnames);
}

PyObject* function_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_function(self)->vectorcall = function_call;
  as_function(self)->specialisations = new (std::nothrow) std::vector<PyObject*>;
  if (as_function(self)->specialisations != nullptr) return self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  FunctionObject* function = as_function(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(function->dict);
  if (function->specialisations != nullptr)
    for (PyObject* s : *function->specialisations) Py_VISIT(s);
  return 0;
}

void drop_specialisations(FunctionObject* function) {
  if (function->specialisations == nullptr) return;
  std::vector<PyObject*> old;
  old.swap(*function->specialisations);
  function->current = nullptr;
  for (PyObject* s : old) reinterpret_cast<SpecialisationObject*>(s)->function = nullptr;
  for (PyObject* s : old) Py_DECREF(s);
}

PyObject* numbered(const FunctionObject* function, Py_ssize_t number) {
  for (PyObject* s : *function->specialisations)
    if (reinterpret_cast<SpecialisationObject*>(s)->number == number) return s;
  return nullptr;
}

int function_clear(PyObject* self) {
  Py_CLEAR(as_function(self)->dict);
  drop_specialisations(as_function(self));
  return 0;
}

void function_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (as_function(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  function_clear(self);
  delete as_function(self)->specialisations;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Binds like a plain function: a method of an instance, itself on the class.
PyObject* function_get(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

PyObject* function_add(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"kernel",       "globals_guard", "hidden",          "statics", "defaults",
                                "overlap_only", "finish",        "positional_only", nullptr};
  PyObject *kernel = nullptr, *globals = nullptr, *hidden = nullptr, *statics = nullptr, *defaults = nullptr;
  PyObject* finish = nullptr;
  int overlap_only = 0;
  Py_ssize_t positional_only = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOOpOn:_add", const_cast<char**>(names), &kernel, &globals,
                                   &hidden, &statics, &defaults, &overlap_only, &finish, &positional_only))
    return nullptr;
  if (!is_kernel(kernel)) {
    PyErr_SetString(PyExc_TypeError, "A specialisation is a Kernel.");
    return nullptr;
  }
  FunctionObject* function = as_function(self);
  PyObject* made = make_specialisation(kernel, !function->annotated, overlap_only != 0, statics, defaults, globals,
                                       hidden, finish, positional_only);
  if (made == nullptr) return nullptr;
  try {
    function->specialisations->push_back(made);
  } catch (...) {
    Py_DECREF(made);
    raise_current_exception();
    return nullptr;
  }
  function->current = made;
  reinterpret_cast<SpecialisationObject*>(made)->function = self;
  reinterpret_cast<SpecialisationObject*>(made)->number = function->next_number;
  return PyLong_FromSsize_t(function->next_number++);
}

// A tuple and a dict laid out as a vectorcall passes them. The values are borrowed from both.
class GivenArguments {
 public:
  GivenArguments(PyObject* positional, PyObject* named)
      : count_(PyTuple_GET_SIZE(positional)), values_(static_cast<size_t>(count_ + PyDict_GET_SIZE(named))) {
    for (Py_ssize_t i = 0; i < count_; ++i) values_[static_cast<size_t>(i)] = PyTuple_GET_ITEM(positional, i);
    if (PyDict_GET_SIZE(named) == 0) return;
    names_ = PyTuple_New(PyDict_GET_SIZE(named));
    PyObject *name, *value;
    Py_ssize_t position = 0, k = 0;
    while (names_ != nullptr && PyDict_Next(named, &position, &name, &value)) {
      PyTuple_SET_ITEM(names_, k, Py_NewRef(name));
      values_[static_cast<size_t>(count_ + k++)] = value;
    }
    failed_ = names_ == nullptr;
  }
  ~GivenArguments() { Py_XDECREF(names_); }
  GivenArguments(const GivenArguments&) = delete;

  bool ok() const { return !failed_; }
  PyObject* const* values() { return values_.data(); }
  Py_ssize_t count() const { return count_; }
  PyObject* names() const { return names_; }

 private:
  Py_ssize_t count_;
  SmallBuffer<PyObject*, 32> values_;
  PyObject* names_ = nullptr;
  bool failed_ = false;
};

// A specialisation by its number and the arguments of a call, as Python's methods are given them.
struct NumberedCall {
  Py_ssize_t index = 0;
  PyObject *positional = nullptr, *named = nullptr;

  // False with a Python error set.
  bool parse(FunctionObject* function, PyObject* args, const char* format) {
    if (!PyArg_ParseTuple(args, format, &index, &PyTuple_Type, &positional, &PyDict_Type, &named)) return false;
    if (index >= 0 && index < function->next_number) return true;
    PyErr_SetString(PyExc_IndexError, "There is no such specialisation.");
    return false;
  }
};

// Calls one specialisation and raises its refusal: what Python does with one that it has just made. Where it was
// unloaded since, the call begins again.
PyObject* function_call_one(PyObject* self, PyObject* args) {
  FunctionObject* function = as_function(self);
  NumberedCall call;
  if (!call.parse(function, args, "nO!O!:_call")) return nullptr;
  GivenArguments given(call.positional, call.named);
  if (!given.ok()) return nullptr;
  PyObject* specialisation = numbered(function, call.index);
  if (specialisation == nullptr) return PyObject_CallMethod(self, "_miss", "OO", call.positional, call.named);
  return call_one(specialisation, given.values(), given.count(), given.names());
}

// Whether a call of one specialisation would be accepted; nothing is run.
PyObject* function_matches(PyObject* self, PyObject* args) {
  FunctionObject* function = as_function(self);
  NumberedCall call;
  if (!call.parse(function, args, "nO!O!:_matches")) return nullptr;
  GivenArguments given(call.positional, call.named);
  if (!given.ok()) return nullptr;
  PyObject* specialisation = numbered(function, call.index);
  if (specialisation == nullptr) Py_RETURN_FALSE;
  Py_INCREF(specialisation);
  const Outcome outcome = would_take(target_of(specialisation), given.values(), given.count(), given.names());
  Py_DECREF(specialisation);
  if (outcome == Outcome::Raised) return nullptr;
  return PyBool_FromLong(outcome == Outcome::Done);
}

PyObject* function_clear_all(PyObject* self, PyObject*) {
  drop_specialisations(as_function(self));
  Py_RETURN_NONE;
}

PyObject* function_specialisations(PyObject* self, PyObject*) {
  const std::vector<PyObject*>& list = *as_function(self)->specialisations;
  PyObject* kernels = PyList_New(static_cast<Py_ssize_t>(list.size()));
  for (size_t i = 0; kernels != nullptr && i < list.size(); ++i)
    PyList_SET_ITEM(kernels, static_cast<Py_ssize_t>(i),
                    Py_NewRef(reinterpret_cast<SpecialisationObject*>(list[i])->kernel));
  return kernels;
}

PyObject* function_missed(PyObject* self, PyObject*) {
  PyErr_Format(PyExc_NotImplementedError, "'%s' does not say what to do for arguments without a specialisation.",
               Py_TYPE(self)->tp_name);
  return nullptr;
}

PyObject* get_annotated(PyObject* self, void*) { return PyBool_FromLong(as_function(self)->annotated); }

int set_annotated(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyBool_Check(value) || !as_function(self)->specialisations->empty()) {
    PyErr_SetString(PyExc_ValueError, "'_annotated' is set to True or False before the first specialisation.");
    return -1;
  }
  as_function(self)->annotated = value == Py_True;
  return 0;
}

PyObject* function_init_subclass(PyObject* type, PyObject*) {
  inherit_vectorcall(reinterpret_cast<PyTypeObject*>(type), function_type);
  Py_RETURN_NONE;
}

PyMethodDef function_methods[] = {
    {"_call_unwatched", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_call_unwatched)),
     METH_FASTCALL | METH_KEYWORDS,
     "_call_unwatched($self, /, *args, **kwargs)\n--\n\nThe call without those who watch it."},
    {"_add", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function_add)), METH_VARARGS | METH_KEYWORDS,
     "_add($self, /, kernel, globals_guard=None, hidden=None, statics=None, defaults=None, overlap_only=False, "
     "finish=None, positional_only=0)\n--\n\n"
     "Adds a specialisation and returns its number, which no other ever has. globals_guard: (dict, cell or object with "
     "slots, key, expected)\n"
     "each, compared by identity, then by type and value, without `expected` where the key must not be there; hidden: "
     "(dict or cell, key) of each hidden array, fetched at the call; "
     "statics:\n"
     "values of static arguments by name; defaults: values of arguments that a call may leave out, by name;\n"
     "overlap_only: takes only calls in which a written array overlaps another argument; finish: makes the result "
     "from\n"
     "what the module returns; positional_only: so many leading arguments cannot be given by name."},
    {"_call", function_call_one, METH_VARARGS,
     "_call($self, number, args, kwargs, /)\n--\n\nCalls one specialisation, and raises where it does not fit; _miss() "
     "where it was unloaded."},
    {"_matches", function_matches, METH_VARARGS,
     "_matches($self, number, args, kwargs, /)\n--\n\nWhether one specialisation takes a call with these arguments; "
     "runs "
     "nothing."},
    {"_clear", function_clear_all, METH_NOARGS, "_clear($self, /)\n--\n\nForgets all specialisations."},
    {"_specialisations", function_specialisations, METH_NOARGS,
     "_specialisations($self, /)\n--\n\nThe kernels, in the order in which they were added."},
    {"_miss", function_missed, METH_VARARGS,
     "_miss($self, args, kwargs, /)\n--\n\nWhat a call that fits no specialisation returns; to be overridden."},
    {"__init_subclass__", function_init_subclass, METH_NOARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_annotated", get_annotated, set_annotated,
     "True: there is one specialisation, scalars are converted, and its refusal is raised.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot function_slots[] = {{Py_tp_new, reinterpret_cast<void*>(function_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(function_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(function_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(function_clear)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(function_get)},
                                {Py_tp_methods, function_methods},
                                {Py_tp_getset, function_getset},
                                {Py_tp_members, function_members},
                                {0, nullptr}};

PyType_Spec function_spec = {"ferrule._rt.FunctionBase", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                             function_slots};

}  // namespace

void forget_specialisation(PyObject* specialisation) {
  PyObject* self = std::exchange(reinterpret_cast<SpecialisationObject*>(specialisation)->function, nullptr);
  if (self == nullptr) return;
  FunctionObject* function = as_function(self);
  std::erase(*function->specialisations, specialisation);
  if (function->current == specialisation) function->current = nullptr;
  Py_DECREF(specialisation);
}

bool add_function_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &function_spec, nullptr);
  if (type == nullptr) return false;
  function_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "FunctionBase", type) == 0;
}

}  // namespace ferrule::python
