#include "specialisation.h"

#include <algorithm>

#include "../common/errors.h"
#include "kernel_methods.h"
#include "quick_call.h"

namespace ferrule::python {
namespace {

PyTypeObject* specialisation_type = nullptr;  // made once, at import

SpecialisationObject* as_specialisation(PyObject* self) { return reinterpret_cast<SpecialisationObject*>(self); }

int specialisation_traverse(PyObject* self, visitproc visit, void* arg) {
  SpecialisationObject* s = as_specialisation(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(s->kernel);
  return s->target != nullptr ? traverse_target(*s->target, visit, arg) : 0;
}

int specialisation_clear(PyObject* self) {
  SpecialisationObject* s = as_specialisation(self);
  if (s->kernel != nullptr) std::erase(*reinterpret_cast<KernelObject*>(s->kernel)->specialisations, self);
  if (s->target != nullptr) clear_target(*s->target);
  Py_CLEAR(s->kernel);
  return 0;
}

void specialisation_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  specialisation_clear(self);
  delete as_specialisation(self)->target;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot specialisation_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(specialisation_dealloc)},
                                      {Py_tp_traverse, reinterpret_cast<void*>(specialisation_traverse)},
                                      {Py_tp_clear, reinterpret_cast<void*>(specialisation_clear)},
                                      {0, nullptr}};

PyType_Spec specialisation_spec = {"ferrule._rt.Specialisation", sizeof(SpecialisationObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   specialisation_slots};

}  // namespace

bool add_specialisation_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &specialisation_spec, nullptr);
  specialisation_type = reinterpret_cast<PyTypeObject*>(type);
  return type != nullptr;
}

PyObject* make_specialisation(PyObject* kernel, bool exact, bool overlap_only, PyObject* statics, PyObject* defaults,
                              PyObject* globals, PyObject* hidden, PyObject* finish, Py_ssize_t n_positional_only) {
  if (!require_loaded(kernel)) return nullptr;
  PyObject* self = specialisation_type->tp_alloc(specialisation_type, 0);
  if (self == nullptr) return nullptr;
  SpecialisationObject* s = as_specialisation(self);
  s->kernel = Py_NewRef(kernel);
  try {
    s->target = new Target;
    reinterpret_cast<KernelObject*>(kernel)->specialisations->push_back(self);
    const Target& own = *reinterpret_cast<KernelObject*>(kernel)->target;
    const InUse in_use(own);
    s->target->exact = exact;
    s->target->overlap_only = overlap_only;
    s->target->n_positional_only = n_positional_only;
    if (finish != nullptr && finish != Py_None) s->target->finish = Py_NewRef(finish);
    s->target->release_gil = own.release_gil;
    if (fill_target(*s->target, own.handle) && specialise_target(*s->target, statics, defaults, globals, hidden)) {
      prepare_quick(*s->target);
      return self;
    }
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(self);
  return nullptr;
}

}  // namespace ferrule::python
