#include "target.h"

#include <cstring>

#include "base/entries.h"
#include "element_types.h"
#include "load/module.h"
#include "runtime/host.h"

namespace ferrule::python {
namespace {

// The value of a Python literal: 0.1, None, (1, 2), 'text'. A new reference.
PyObject* literal(const char* text) {
  PyObject* ast = PyImport_ImportModule("ast");
  if (ast == nullptr) return nullptr;
  PyObject* value = PyObject_CallMethod(ast, "literal_eval", "s", text);
  Py_DECREF(ast);
  return value;
}

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

// Replaces an owned reference; `value` is borrowed.
void assign(PyObject*& slot, PyObject* value) {
  Py_XINCREF(value);
  Py_XSETREF(slot, value);
}

// Copies the steps of an array; false where they are more than one extent an axis, or need another order than that of
// the axes.
bool take_axes(const ArgPlan& plan, uint32_t n_symbols, ArgTarget& arg) {
  if (plan.rank > ArgTarget::kAxes || n_symbols > UINT16_MAX) return false;
  const auto unread = static_cast<uint16_t>(n_symbols);
  for (AxisTarget& axis : arg.axes) axis = {unread, unread};
  for (const Step* step = plan.steps; step != plan.steps_end; ++step) {
    AxisTarget& axis = arg.axes[step->axis];
    const bool checks = step->kind == Step::Kind::CheckExtent || step->kind == Step::Kind::CheckGuard;
    if (!checks && step->kind != Step::Kind::DefineExtent) return false;
    uint16_t& slot = checks ? axis.equals : axis.defines;
    if (slot != unread) return false;
    slot = static_cast<uint16_t>(step->symbol);
  }
  for (int32_t checked = 0; checked < plan.rank; ++checked)
    for (int32_t later = checked + 1; later < plan.rank; ++later)
      if (arg.axes[checked].equals != unread && arg.axes[later].defines == arg.axes[checked].equals) return false;
  for (AxisTarget& axis : arg.axes)
    if (axis.equals == unread) axis.equals = axis.defines;
  return true;
}

// Structs are compared field by field, and without ml_dtypes no ndarray has its dtypes: those get no descriptor.
bool take_descr(const ArgPlan& plan, ArgTarget& arg) {
  if (plan.dtype == DType::Record) return true;
  if (plan.dtype == DType::BF16 || is_float8(plan.dtype)) {
    PyObject* type = ml_class(plan.dtype, true);
    if (type == nullptr) return PyErr_Occurred() == nullptr;
    Py_DECREF(type);
  }
  arg.descr = new_descr(plan.dtype, "", plan.declared->name);
  return arg.descr != nullptr;
}

bool fill_argument(const ArgPlan& plan, uint32_t n_symbols, ArgTarget& arg) {
  if (!plan.hidden) {
    arg.name = interned(plan.declared->name);
    if (arg.name == nullptr) return false;
  }
  // A fixed value without a literal is described in angle brackets; the host gives it.
  if (plan.declared->default_text != nullptr && plan.declared->default_text[0] != '<') {
    PyObject* value = literal(plan.declared->default_text);
    if (value == nullptr) return false;
    if (plan.kind == FR_ARG_STATIC) assign(arg.fixed, value);
    arg.fallback = value;
  }
  if (plan.kind != FR_ARG_ARRAY) return true;
  if (!take_descr(plan, arg)) return false;
  arg.rank = plan.rank;
  arg.item = plan.item;
  const bool f = plan.layout == FR_LAYOUT_F || (plan.layout == FR_LAYOUT_INNER && plan.inner_axis != plan.rank - 1);
  const bool neither = plan.layout == FR_LAYOUT_INNER && plan.inner_axis != 0 && plan.inner_axis != plan.rank - 1;
  // Where neither order gives the inner axis unit stride, a flag that no array has sends every array to the full test.
  arg.sufficient_flags =
      neither ? ArgTarget::kNever : (f ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS) | NPY_ARRAY_ALIGNED;
  if (plan.written) arg.sufficient_flags |= NPY_ARRAY_WRITEABLE;
  if (take_axes(plan, n_symbols, arg)) arg.straight_flags = arg.sufficient_flags;
  return true;
}

int32_t find_argument(const Target& target, PyObject* name) {
  for (size_t i = 0; i < target.args.size(); ++i) {
    if (target.args[i].name == nullptr) continue;
    const int equal = PyUnicode_Compare(target.args[i].name, name);
    if (equal == 0) return static_cast<int32_t>(i);
    if (PyErr_Occurred() != nullptr) return -1;
  }
  PyErr_Format(PyExc_TypeError, "'%U' is no argument of '%s'.", name, target.plan().module->name);
  return -1;
}

bool take_values(Target& target, PyObject* values, PyObject* ArgTarget::* slot) {
  if (values == nullptr || values == Py_None) return true;
  if (!PyDict_Check(values)) {
    PyErr_SetString(PyExc_TypeError, "Values of arguments come as a dict from name to value.");
    return false;
  }
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(values, &position, &name, &value)) {
    const int32_t i = PyUnicode_Check(name) ? find_argument(target, name) : -1;
    if (i < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "Names of arguments are strings.");
      return false;
    }
    assign(target.args[static_cast<size_t>(i)].*slot, value);
  }
  return true;
}

// Reads (container, key, ...) of at least two and at most `size` items from a tuple; the items stay borrowed.
bool take_variable(PyObject* entry, Py_ssize_t size, Variable& variable) {
  if (!PyTuple_Check(entry) || PyTuple_GET_SIZE(entry) < 2 || PyTuple_GET_SIZE(entry) > size) {
    PyErr_Format(PyExc_TypeError, "A variable is a tuple of %zd items: a dict or cell, a key%s.", size,
                 size == 3 ? ", the expected value" : "");
    return false;
  }
  PyObject* container = PyTuple_GET_ITEM(entry, 0);
  PyObject* key = PyTuple_GET_ITEM(entry, 1);
  variable.slot = !PyCell_Check(container) && !PyDict_Check(container);
  if (variable.slot && PyTuple_GET_SIZE(entry) != 3) {
    PyErr_SetString(PyExc_TypeError, size == 3
                                         ? "A slot comes as a tuple of 3 items: the object, a key, the expected value."
                                         : "An array lives in a dict or in a closure cell.");
    return false;
  }
  assign(variable.container, container);
  assign(variable.key, PyCell_Check(container) ? nullptr : key);
  return true;
}

bool take_globals(Target& target, PyObject* globals) {
  if (globals == nullptr || globals == Py_None) return true;
  PyObject* entries = PySequence_Tuple(globals);
  if (entries == nullptr) return false;
  bool ok = true;
  for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(entries); ++i) {
    PyObject* entry = PyTuple_GET_ITEM(entries, i);
    GlobalGuard& guard = target.globals.emplace_back();
    ok = take_variable(entry, 3, guard.variable);
    if (ok && PyTuple_GET_SIZE(entry) == 3) assign(guard.expected, PyTuple_GET_ITEM(entry, 2));
  }
  Py_DECREF(entries);
  return ok;
}

bool take_hidden(Target& target, PyObject* hidden) {
  PyObject* entries = hidden == nullptr || hidden == Py_None ? PyTuple_New(0) : PySequence_Tuple(hidden);
  if (entries == nullptr) return false;
  Py_ssize_t next = 0;
  bool ok = true;
  for (const ArgPlan& arg : target.plan().args) {
    if (!arg.hidden || !ok) continue;
    if (next == PyTuple_GET_SIZE(entries)) break;
    HiddenArray& array = target.hidden.emplace_back();
    array.arg = arg.index;
    ok = take_variable(PyTuple_GET_ITEM(entries, next++), 2, array.variable);
  }
  if (ok && next != PyTuple_GET_SIZE(entries)) {
    PyErr_Format(PyExc_TypeError, "%zd hidden variables are given, but '%s' has %zd.", PyTuple_GET_SIZE(entries),
                 target.plan().module->name, next);
    ok = false;
  }
  Py_DECREF(entries);
  return ok;
}

}  // namespace

bool fill_target(Target& target, std::shared_ptr<Handle> handle) {
  target.handle = std::move(handle);
  target.cached_plan = &target.handle->plan();
  const CallPlan& plan = target.plan();
  target.args.resize(plan.args.size());
  target.array_type = &PyArray_Type;
  target.host = host_table();
  target.error_check = (plan.module->flags & FR_MODULE_UNCHECKED) == 0;
  if ((plan.module->flags & FR_MODULE_RELEASES_GIL) != 0) target.release_gil = ReleaseGil::Always;
  if ((plan.module->flags & FR_MODULE_KEEPS_GIL) != 0) target.release_gil = ReleaseGil::Never;
  if (plan.n_positional == plan.args.size()) target.n_by_position = static_cast<Py_ssize_t>(plan.args.size());
  for (size_t i = 0; i < plan.args.size(); ++i)
    if (!fill_argument(plan.args[i], plan.module->n_symbols, target.args[i])) return false;
  for (const ArgPlan& arg : plan.args) target.has_hidden |= arg.hidden;
  for (uint32_t s = 0; s < plan.module->n_symbols; ++s) {
    PyObject* name = interned(entry_at(plan.module->symbols, s).name);
    if (name == nullptr) return false;
    target.symbol_names.push_back(name);
  }
  for (const ReturnPlan& r : plan.returns) {
    const char* name = r.declared->name != nullptr ? r.declared->name : "";
    target.return_descrs.push_back(new_descr(r.dtype, r.declared->record != nullptr ? r.declared->record->literal : "",
                                             std::string(plan.module->name) + "(): the result '" + name + "'"));
    if (target.return_descrs.back() == nullptr) return false;
    if (name[0] == '\0') continue;
    target.return_names.push_back(interned(name));
    if (target.return_names.back() == nullptr) return false;
  }
  return true;
}

bool specialise_target(Target& target, PyObject* statics, PyObject* defaults, PyObject* globals, PyObject* hidden) {
  if (!take_values(target, statics, &ArgTarget::fixed) || !take_values(target, defaults, &ArgTarget::fallback) ||
      !take_globals(target, globals) || !take_hidden(target, hidden))
    return false;
  // A fixed value stands for a missing argument of a bare kernel; a function asks for what it has no default for.
  for (const ArgPlan& arg : target.plan().args)
    if (arg.kind == FR_ARG_STATIC && statics != nullptr && statics != Py_None &&
        (defaults == nullptr || defaults == Py_None || PyDict_GetItemString(defaults, arg.declared->name) == nullptr))
      assign(target.args[static_cast<size_t>(arg.index)].fallback, nullptr);
  for (const ArgPlan& arg : target.plan().args) {
    if (arg.kind != FR_ARG_STATIC || target.args[static_cast<size_t>(arg.index)].fixed != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "The value of the static argument '%s' is not given.", arg.declared->name);
    return false;
  }
  return true;
}

int traverse_target(const Target& target, visitproc visit, void* arg) {
  Py_VISIT(target.finish);
  for (const ArgTarget& a : target.args) {
    Py_VISIT(a.fallback);
    Py_VISIT(a.fixed);
  }
  for (const GlobalGuard& g : target.globals) {
    Py_VISIT(g.variable.container);
    Py_VISIT(g.variable.key);
    Py_VISIT(g.expected);
  }
  for (const HiddenArray& h : target.hidden) {
    Py_VISIT(h.variable.container);
    Py_VISIT(h.variable.key);
  }
  return 0;
}

void clear_target(Target& target) {
  // Releasing a value may run Python code that looks at the target again: it finds it empty.
  Target old;
  std::swap(old, target);
  target.handle = old.handle;
  target.cached_plan = old.cached_plan;
  target.uses = old.uses;
  const auto drop = [](Variable& v) {
    Py_XDECREF(v.container);
    Py_XDECREF(v.key);
  };
  for (ArgTarget& a : old.args) {
    Py_XDECREF(a.descr);
    Py_XDECREF(a.name);
    Py_XDECREF(a.fallback);
    Py_XDECREF(a.fixed);
  }
  for (PyObject* name : old.symbol_names) Py_XDECREF(name);
  for (PyObject* name : old.return_names) Py_XDECREF(name);
  Py_XDECREF(old.seen_names);
  Py_XDECREF(old.finish);
  for (PyArray_Descr* descr : old.return_descrs) Py_XDECREF(descr);
  for (GlobalGuard& g : old.globals) {
    drop(g.variable);
    Py_XDECREF(g.expected);
  }
  for (HiddenArray& h : old.hidden) drop(h.variable);
}

}  // namespace ferrule::python
