// Kernel.unload: the end of a handle, and of its module where nothing else uses it. No use of the handle may be under
// way (InUse); quick calls cannot be, for they keep the interpreter's lock. Calls pay nothing for it: an unloaded
// kernel has another vectorcall, and the functions that had it as a specialisation have it no more.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "../common/errors.h"
#include "function_object.h"
#include "kernel_methods.h"
#include "kernel_object.h"
#include "specialisation.h"

namespace ferrule::python {
namespace {

KernelObject* as_kernel(PyObject* self) { return reinterpret_cast<KernelObject*>(self); }

Target& target_of(PyObject* specialisation) { return *reinterpret_cast<SpecialisationObject*>(specialisation)->target; }

std::unique_ptr<Remains> remains_of(const Handle& handle) {
  const FrModule& module = *handle.plan().module;
  auto made = std::make_unique<Remains>();
  made->name = module.name;
  made->signature = signature_text(module);
  if (module.digest != nullptr) made->digest = module.digest;
  made->file_digest = handle.module().digest();
  for (uint32_t i = 0; i < module.n_facts; ++i) made->facts.emplace_back(module.facts[i].key, module.facts[i].value);
  return made;
}

PyObject* call_unloaded(PyObject* self, PyObject* const*, size_t, PyObject*) {
  require_loaded(self);
  return nullptr;
}

// Lets go of the handle and of all that was made for it. Runs Python code: ends of values.
void empty(Target& target) {
  clear_target(target);
  target.cached_plan = nullptr;
  target.handle.reset();
}

}  // namespace

bool require_loaded(PyObject* self) {
  const Remains* remains = as_kernel(self)->remains;
  if (remains == nullptr) return true;
  raise_from(user_error(fmt::format("'{}' was unloaded; load its artifact again.", remains->name), Builtin::Runtime));
  return false;
}

PyObject* kernel_unload(PyObject* self, PyObject*) try {
  KernelObject* kernel = as_kernel(self);
  if (kernel->remains != nullptr) Py_RETURN_FALSE;
  Target& target = *kernel->target;
  require_unloadable(target.handle->module());
  std::vector<PyObject*> sharing = *kernel->specialisations;
  if (target.uses != 0 || std::any_of(sharing.begin(), sharing.end(), [](auto* s) { return target_of(s).uses != 0; }))
    throw user_error(fmt::format("'{}' cannot be unloaded while a call of it runs; unload it when that has returned.",
                                 target.plan().module->name),
                     Builtin::Runtime);
  // Nothing fails from here on, so that a handle is never half unloaded.
  kernel->remains = remains_of(*target.handle).release();
  kernel->vectorcall = call_unloaded;
  for (PyObject* s : sharing) forget_specialisation(Py_NewRef(s));
  std::shared_ptr<Handle> handle = target.handle;
  std::exception_ptr failed;
  try {
    unlocked([&] { handle->finalize(); });
  } catch (const std::exception&) {  // of the program's `exit`, which leaves no state either way
    failed = std::current_exception();
  }
  for (PyObject* s : sharing) {
    empty(target_of(s));
    Py_DECREF(s);
  }
  const ReleaseGil release_gil = target.release_gil;
  const bool error_check = target.error_check;
  empty(target);
  target.release_gil = release_gil;
  target.error_check = error_check;
  std::shared_ptr<const Module> module = handle->shared_module();
  handle.reset();
  const bool ended = unload_module(std::move(module));
  if (failed) std::rethrow_exception(failed);
  return PyBool_FromLong(ended);
} catch (...) {
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
