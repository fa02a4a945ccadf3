#include <algorithm>

#include "../common/errors.h"
#include "base/entries.h"
#include "call_target.h"
#include "kernel_methods.h"
#include "kernel_object.h"

namespace ferrule::python {
namespace {

const Target& target_of(PyObject* self) { return *reinterpret_cast<KernelObject*>(self)->target; }

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

bool names_sizes_alone(const Target& target, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs != 0) return false;
  const FrModule& module = *target.plan().module;
  for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); ++k) {
    bool found = false;
    for (uint32_t s = 0; s < module.n_symbols && !found; ++s)
      found = PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), entry_at(module.symbols, s).name) == 0;
    if (!found) return false;
  }
  return true;
}

// Sizes by name into the frame. Those that are `needed` must all be there.
bool take_sizes(const Target& target, PyObject* const* values, PyObject* kwnames, const std::vector<int32_t>& needed,
                Frame& frame) {
  const FrModule& module = *target.plan().module;
  std::vector<bool> given(module.n_symbols);
  for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); ++k) {
    for (uint32_t s = 0; s < module.n_symbols; ++s) {
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, k), entry_at(module.symbols, s).name) != 0)
        continue;
      if (!PyLong_Check(values[k]) || PyBool_Check(values[k])) {
        PyErr_Format(PyExc_TypeError, "%s(): the size '%U' is %s, but an int is expected.", module.name,
                     PyTuple_GET_ITEM(kwnames, k), Py_TYPE(values[k])->tp_name);
        return false;
      }
      frame.symbols[s] = PyLong_AsLongLong(values[k]);
      if (frame.symbols[s] == -1 && PyErr_Occurred() != nullptr) return false;
      given[s] = true;
    }
  }
  for (const int32_t s : needed) {
    if (given[static_cast<size_t>(s)]) continue;
    PyErr_Format(PyExc_TypeError, "%s(): the size '%s' is missing; give it by name, or give the arguments of a call.",
                 module.name, entry_at(module.symbols, static_cast<uint32_t>(s)).name);
    return false;
  }
  const auto is_given = [&](int32_t s) { return given[static_cast<size_t>(s)]; };
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (!given[s] || frame.symbols[s] >= 0 || (symbol.flags & 1) != 0) continue;
    frame.fail({Reason::Negative, -1, -1, static_cast<int32_t>(s), frame.symbols[s]});
    throw refusal(target.plan(), frame);
  }
  for (size_t g = 0; g < target.plan().guards.size(); ++g) {
    const PostfixExpr& condition = target.plan().guards[g].condition;
    const std::vector<int32_t> symbols = condition.symbols();
    if (symbols.empty() || !std::all_of(symbols.begin(), symbols.end(), is_given)) continue;
    if (condition.eval(frame.symbols, frame.pointers).value != 0) continue;
    frame.fail({Reason::Guard, -1, -1, static_cast<int32_t>(g), 0});
    throw refusal(target.plan(), frame);
  }
  return true;
}

// The sizes that a call with these arguments has, or those given by name. False with a Python error set.
bool bind_sizes(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                const std::vector<int32_t>& needed, Attempt& attempt) {
  if (names_sizes_alone(target, nargs, kwnames))
    return take_sizes(target, args + nargs, kwnames, needed, attempt.frame);
  const Called called = attempt_call<false>(target, args, nargs, kwnames, attempt);
  if (called.outcome == Outcome::Miss) raise_miss(target, attempt.frame, attempt.problem);
  return called.outcome == Outcome::Done;
}

void release_buffer(Py_buffer* view) {
  if (Py_IsInitialized() != 0) {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(view);
    PyGILState_Release(state);
    delete view;
  }  // else it is too late to give anything back
}

}  // namespace

PyObject* kernel_initialize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  const Target& target = target_of(self);
  Attempt attempt(target.plan());
  const GivenBack ended{attempt};
  std::fill_n(attempt.frame.symbols, target.plan().module->n_symbols, 0);
  if (!bind_sizes(target, args, nargs, kwnames, target.plan().persistent, attempt)) return nullptr;
  const std::shared_ptr<Handle> handle = target.handle;
  unlocked([&] { handle->initialize(attempt.frame.symbols); });
  Py_RETURN_NONE;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* kernel_finalize(PyObject* self, PyObject*) try {
  const std::shared_ptr<Handle> handle = target_of(self).handle;
  unlocked([&] { handle->finalize(); });
  Py_RETURN_NONE;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* kernel_workspace_sizes(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  const Target& target = target_of(self);
  const CallPlan& plan = target.plan();
  std::vector<int32_t> needed;
  for (const WorkspacePlan& w : plan.workspaces)
    for (const int32_t s : w.bytes.symbols()) needed.push_back(s);
  Attempt attempt(plan);
  const GivenBack ended{attempt};
  if (!bind_sizes(target, args, nargs, kwnames, needed, attempt)) return nullptr;
  const std::vector<int64_t> bytes = target.handle->workspace_bytes(attempt.frame);
  PyObject* sizes = PyDict_New();
  for (size_t i = 0; sizes != nullptr && i < bytes.size(); ++i) {
    PyObject* value = PyLong_FromLongLong(bytes[i]);
    if (value == nullptr || PyDict_SetItemString(sizes, plan.workspaces[i].declared->name, value) < 0) Py_CLEAR(sizes);
    Py_XDECREF(value);
  }
  return sizes;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* kernel_set_workspace(PyObject* self, PyObject* args) try {
  const char* name = nullptr;
  PyObject* buffer = nullptr;
  if (PyArg_ParseTuple(args, "sO:set_workspace", &name, &buffer) == 0) return nullptr;
  const Target& target = target_of(self);
  const CallPlan& plan = target.plan();
  size_t index = 0;
  while (index < plan.workspaces.size() && std::string_view(plan.workspaces[index].declared->name) != name) ++index;
  if (index == plan.workspaces.size()) {
    std::string known;
    for (const WorkspacePlan& w : plan.workspaces) known += (known.empty() ? "" : ", ") + std::string(w.declared->name);
    PyErr_Format(PyExc_ValueError, "%s() has no workspace '%s'; it has %s.", plan.module->name, name,
                 known.empty() ? "none" : known.c_str());
    return nullptr;
  }
  std::shared_ptr<void> owner;
  void* data = nullptr;
  Py_ssize_t bytes = 0;
  if (buffer != Py_None) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(buffer, view.get(), PyBUF_WRITABLE) < 0) return nullptr;
    data = view->buf;
    bytes = view->len;
    owner = std::shared_ptr<Py_buffer>(view.release(), release_buffer);
  }
  const std::shared_ptr<Handle> handle = target.handle;
  const std::shared_ptr<void> old = handle->set_workspace(index, std::move(owner), data, bytes);
  Py_RETURN_NONE;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
