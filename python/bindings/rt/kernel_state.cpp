#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "../common/errors.h"
#include "advice.h"
#include "base/entries.h"
#include "bind_args.h"
#include "call/refuse.h"
#include "call_target.h"
#include "foreign_array.h"
#include "kernel_methods.h"
#include "kernel_object.h"

namespace ferrule::python {
namespace {

const Target& target_of(PyObject* self) { return *reinterpret_cast<KernelObject*>(self)->target; }

// Whether a str is this UTF-8 text; one with lone surrogates is none.
bool is_text(PyObject* name, std::string_view text) {
  Py_ssize_t size = 0;
  const char* own = PyUnicode_AsUTF8AndSize(name, &size);
  if (own == nullptr) PyErr_Clear();
  return own != nullptr && std::string_view(own, static_cast<size_t>(size)) == text;
}

bool names_sizes_alone(const Target& target, Py_ssize_t nargs, PyObject* kwnames) {
  if (nargs != 0) return false;
  const FrModule& module = *target.plan().module;
  for (Py_ssize_t k = 0; kwnames != nullptr && k < PyTuple_GET_SIZE(kwnames); ++k) {
    bool found = false;
    for (uint32_t s = 0; s < module.n_symbols && !found; ++s)
      found = is_text(PyTuple_GET_ITEM(kwnames, k), entry_at(module.symbols, s).name);
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
      if (!is_text(PyTuple_GET_ITEM(kwnames, k), entry_at(module.symbols, s).name)) continue;
      const std::optional<int64_t> size = take_size(target, s, values[k]);
      if (!size.has_value()) return false;
      frame.symbols[s] = *size;
      given[s] = true;
    }
  }
  for (const int32_t s : needed) {
    if (given[static_cast<size_t>(s)]) continue;
    refuse({module.name, entry_at(module.symbols, static_cast<uint32_t>(s)).name}, Builtin::Type,
           "is missing; give this size by name, or give the arguments of a call.");
    return false;
  }
  const auto is_given = [&](int32_t s) { return given[static_cast<size_t>(s)]; };
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (!given[s] || frame.symbols[s] >= 0 || (symbol.flags & 1) != 0) continue;
    refuse({module.name, symbol.name}, Builtin::Value,
           fmt::format("is {}, but it must not be negative.", frame.symbols[s]));
    return false;
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

// Empty with a Python error set.
std::optional<size_t> workspace_named(const CallPlan& plan, PyObject* name) {
  std::string known;
  for (size_t i = 0; i < plan.workspaces.size(); ++i) {
    const char* own = plan.workspaces[i].declared->name;
    if (PyUnicode_Check(name) && is_text(name, own)) return i;
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", own);
  }
  raise_from(user_error(fmt::format("{}(): there is no workspace {}; {}.", plan.module->name, short_repr(name),
                                    known.empty() ? "this function has none" : "there is " + known),
                        PyUnicode_Check(name) ? Builtin::Value : Builtin::Type));
  return std::nullopt;
}

// Whether elements are references to Python objects, which the program would overwrite; names of fields do not count.
bool holds_objects(std::string_view format) {
  bool in_name = false;
  for (const char c : format) {
    if (c == ':') in_name = !in_name;
    if (c == 'O' && !in_name) return true;
  }
  return false;
}

// Writable memory in one piece; null with a Python error set.
std::unique_ptr<Py_buffer> workspace_buffer(const Asked& asked, PyObject* object) {
  if (PyObject_CheckBuffer(object) == 0) {
    refuse(asked, Builtin::Type,
           fmt::format("is {}, but a writable buffer is expected; pass a numpy.ndarray or a bytearray.",
                       kind_of_object(object)));
    return nullptr;
  }
  auto view = std::make_unique<Py_buffer>();
  const bool is_ndarray = PyArray_Check(object);  // whose dtype tells, also where a buffer has no format for it
  if (PyObject_GetBuffer(object, view.get(), is_ndarray ? PyBUF_STRIDED_RO : PyBUF_FULL_RO) != 0) {
    refuse_with_reason(asked, "the buffer protocol");
    return nullptr;
  }
  const bool objects = is_ndarray ? PyDataType_REFCHK(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(object)))
                                  : view->format != nullptr && holds_objects(view->format);
  const bool contiguous = PyBuffer_IsContiguous(view.get(), 'A') != 0;
  if (!objects && contiguous && view->readonly == 0) return view;
  PyBuffer_Release(view.get());
  if (objects)
    refuse(asked, Builtin::Type, "holds Python objects, which the program would overwrite; pass memory of numbers.");
  else if (!contiguous)
    refuse(asked, Builtin::Value, "is not contiguous; pass memory in one piece.");
  else
    refuse(asked, Builtin::Value, "is read-only, but the program writes to it; pass writable memory.");
  return nullptr;
}

}  // namespace

PyObject* kernel_initialize(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  if (!require_loaded(self)) return nullptr;
  const Target& target = target_of(self);
  const InUse in_use(target);
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
  if (!require_loaded(self)) return nullptr;
  const InUse in_use(target_of(self));
  const std::shared_ptr<Handle> handle = target_of(self).handle;
  unlocked([&] { handle->finalize(); });
  Py_RETURN_NONE;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* kernel_workspace_sizes(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  if (!require_loaded(self)) return nullptr;
  const Target& target = target_of(self);
  const InUse in_use(target);
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
  PyObject *name = nullptr, *buffer = nullptr;
  if (PyArg_ParseTuple(args, "OO:set_workspace", &name, &buffer) == 0 || !require_loaded(self)) return nullptr;
  const Target& target = target_of(self);
  const InUse in_use(target);
  const std::optional<size_t> index = workspace_named(target.plan(), name);
  if (!index.has_value()) return nullptr;
  const Asked asked = {target.plan().module->name, target.plan().workspaces[*index].declared->name};
  std::shared_ptr<void> owner;
  void* data = nullptr;
  Py_ssize_t bytes = 0;
  if (buffer != Py_None) {
    std::unique_ptr<Py_buffer> view = workspace_buffer(asked, buffer);
    if (view == nullptr) return nullptr;
    data = view->buf;
    bytes = view->len;
    owner = std::shared_ptr<Py_buffer>(view.release(), release_buffer);
  }
  const std::shared_ptr<Handle> handle = target.handle;
  const std::shared_ptr<void> old = handle->set_workspace(*index, std::move(owner), data, bytes);
  Py_RETURN_NONE;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
