#include "bind_args.h"

#include <cstring>

#include "bind_kinds.h"
#include "element_types.h"
#include "return_override.h"

namespace ferrule::python {
namespace {

// The argument of a keyword, -1 if it is none: names are interned, so pointers tell; the same place as declared is
// tried first. Names that were built at run time are compared as text.
int32_t argument_named(const Target& target, PyObject* name, size_t guess) {
  const size_t n = target.args.size();
  if (guess < n && target.args[guess].name == name) [[likely]]
    return static_cast<int32_t>(guess);
  for (size_t i = 0; i < n; ++i)
    if (target.args[i].name == name) return static_cast<int32_t>(i);
  for (size_t i = 0; i < n; ++i)
    if (target.args[i].name != nullptr && PyUnicode_Compare(target.args[i].name, name) == 0)
      return static_cast<int32_t>(i);
  return -1;
}

int32_t symbol_named(const Target& target, PyObject* name) {
  for (size_t s = 0; s < target.symbol_names.size(); ++s)
    if (target.symbol_names[s] == name || PyUnicode_Compare(target.symbol_names[s], name) == 0)
      return static_cast<int32_t>(s);
  return -1;
}

Outcome take_symbol(const Target& target, PyObject* name, PyObject* value, Attempt& attempt) {
  Frame& frame = attempt.frame;
  Problem& problem = attempt.problem;
  const int32_t symbol = symbol_named(target, name);
  if (symbol < 0 && !target.return_names.empty())
    if (const auto taken = take_override(target, name, value, attempt)) return *taken;
  if (symbol < 0) return miss(problem, Wrong::UnknownName, -1, name);
  const std::optional<int64_t> number = take_size(target, static_cast<uint32_t>(symbol), value);
  if (!number.has_value()) return Outcome::Raised;
  frame.explicit_given()[frame.n_explicit++] = {symbol, *number};  // names of one call differ, so there is room
  return Outcome::Done;
}

}  // namespace

namespace {

// Item by item, for 1 and 1.0 and True, or 0.0 and -0.0, are not the same. Comparing may run Python code that changes
// lists.
int same_items(PyObject* a, PyObject* b) {
  int same = PySequence_Fast_GET_SIZE(a) == PySequence_Fast_GET_SIZE(b) ? 1 : 0;
  for (Py_ssize_t i = 0; same == 1 && i < PySequence_Fast_GET_SIZE(a) && i < PySequence_Fast_GET_SIZE(b); ++i) {
    PyObject* left = Py_NewRef(PySequence_Fast_GET_ITEM(a, i));
    PyObject* right = Py_NewRef(PySequence_Fast_GET_ITEM(b, i));
    same = same_value(left, right);
    Py_DECREF(left);
    Py_DECREF(right);
  }
  return same;
}

// Keys and values in their order, which loops over a dict see.
int same_dict(PyObject* a, PyObject* b) {
  PyObject* left = PyDict_Items(a);
  PyObject* right = PyDict_Items(b);
  const int same = left == nullptr || right == nullptr ? -1 : same_items(left, right);
  Py_XDECREF(left);
  Py_XDECREF(right);
  return same;
}

}  // namespace

int same_value(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (Py_TYPE(a) != Py_TYPE(b)) return 0;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof x) == 0;
  }
  if (PyTuple_CheckExact(a) || PyList_CheckExact(a)) return same_items(a, b);
  if (PyDict_CheckExact(a)) return same_dict(a, b);
  PyObject* equal = PyObject_RichCompare(a, b, Py_EQ);
  if (equal == nullptr) return -1;
  const int result = PyBool_Check(equal) ? equal == Py_True : 0;  // an array of answers is no answer
  Py_DECREF(equal);
  return result;
}

bool names_in_order(const Target& target, Py_ssize_t nargs, PyObject* kwnames) {
  const Py_ssize_t n_names = PyTuple_GET_SIZE(kwnames);
  if (nargs + n_names != static_cast<Py_ssize_t>(target.args.size()) || nargs < target.n_positional_only ||
      nargs > static_cast<Py_ssize_t>(target.plan().n_positional))
    return false;
  const ArgTarget* const named = target.args.data() + nargs;
  for (Py_ssize_t k = 0; k < n_names; ++k)
    if (named[k].name != PyTuple_GET_ITEM(kwnames, k)) return false;  // interned, so that pointers tell
  Py_INCREF(kwnames);
  Py_XSETREF(target.seen_names, kwnames);
  target.seen_nargs = nargs;
  return true;
}

Outcome gather(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** given,
               Attempt& attempt) {
  Problem& problem = attempt.problem;
  const CallPlan& plan = target.plan();
  const size_t n = plan.args.size();
  const bool cleared = target.args.size() != n;  // a finaliser calls what the garbage collector takes apart
  if (cleared || nargs > static_cast<Py_ssize_t>(plan.n_positional))
    return miss(problem, Wrong::TooMany, -1, nullptr, nargs);
  const auto n_given = static_cast<size_t>(nargs);
  size_t missing = n - n_given;
  for (size_t i = 0; i < n_given; ++i) given[i] = args[i];
  for (size_t i = n_given; i < n; ++i) given[i] = nullptr;
  const Py_ssize_t n_names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < n_names; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    PyObject* value = args[nargs + k];
    const int32_t i = argument_named(target, name, n_given + static_cast<size_t>(k));
    if (i >= 0 && i < target.n_positional_only) return miss(problem, Wrong::PositionalOnly, i);
    if (i < 0) {
      const Outcome taken = take_symbol(target, name, value, attempt);
      if (taken != Outcome::Done) return taken;
    } else if (given[i] != nullptr) {
      return miss(problem, Wrong::Doubled, i);
    } else {
      given[i] = value;
      --missing;
    }
  }
  if (missing == 0) [[likely]]
    return Outcome::Done;
  for (size_t i = 0; i < n; ++i) {
    if (given[i] != nullptr || plan.args[i].hidden) continue;
    given[i] = target.args[i].fallback;
    if (given[i] == nullptr) return miss(problem, Wrong::Missing, static_cast<int32_t>(i));
  }
  return Outcome::Done;
}

PyObject* value_of_slot(const Variable& variable) {
  PyObject* value = PyObject_GetAttr(variable.container, variable.key);
  if (value == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();  // the slot is empty
  Py_XDECREF(value);
  return value;
}

Outcome compare_variable(const GlobalGuard& guard, PyObject* value, Problem& problem) {
  if (PyErr_Occurred() != nullptr) return Outcome::Raised;
  Py_XINCREF(value);  // the comparison may run Python code that rebinds the variable
  int same = value == nullptr || guard.expected == nullptr ? 0 : same_value(value, guard.expected);
  Py_XDECREF(value);
  if (same < 0 && PyErr_ExceptionMatches(PyExc_ValueError)) {  // containers of arrays have no truth
    PyErr_Clear();
    same = 0;
  }
  if (same < 0) return Outcome::Raised;
  return same == 1 ? Outcome::Done : miss(problem, Wrong::GlobalChanged, -1, guard.variable.key);
}

Outcome fetch_hidden(const Target& target, PyObject** given, Problem& problem) {
  for (const HiddenArray& hidden : target.hidden) given[hidden.arg] = nullptr;
  for (const HiddenArray& hidden : target.hidden) {
    PyObject* value = value_of(hidden.variable);
    if (value == nullptr)
      return PyErr_Occurred() != nullptr ? Outcome::Raised : miss(problem, Wrong::HiddenMissing, hidden.arg);
    given[hidden.arg] = Py_NewRef(value);
  }
  for (const ArgPlan& arg : target.plan().args)
    if (arg.hidden && given[arg.index] == nullptr) return miss(problem, Wrong::HiddenMissing, arg.index);
  return Outcome::Done;
}

namespace {

// Every case that the quick tests leave: subclasses, other descriptors of the same dtype, layouts that need a look at
// the strides, None, and everything that is refused.
Outcome bind_array_slowly(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  Frame& frame = attempt.frame;
  Problem& problem = attempt.problem;
  if (object == Py_None && arg.optional) {
    bind_none(arg, frame);
    return Outcome::Done;
  }
  if (!PyArray_Check(object)) {
    const bool list = target.plan().coerces && arg.record == nullptr && (PyList_Check(object) || PyTuple_Check(object));
    return list ? bind_list(target, arg, object, attempt) : bind_foreign_array(target, arg, object, attempt);
  }
  if (!PyArray_CheckExact(object)) {
    const int masked = is_masked_array(object);
    if (masked < 0) return Outcome::Raised;
    if (masked == 1) return miss(problem, Wrong::Masked, arg.index, object);
    const int other = has_other_operators(object);
    if (other < 0) return Outcome::Raised;
    if (other == 1) return miss(problem, Wrong::Subclass, arg.index, object);
  }
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (!has_elements_of(arg, PyArray_DESCR(array))) return miss(problem, Wrong::ArrayDtype, arg.index, object);
  const int64_t* shape = shape_of(array);
  const int64_t* strides = strides_of(array);
  frame.arrays[arg.index].shape = shape;  // also where the layout is refused: the sentence shows them
  frame.arrays[arg.index].byte_strides = strides;
  if (PyArray_NDIM(array) != arg.rank) {
    frame.mismatch = {Reason::Rank, arg.index, -1, -1, PyArray_NDIM(array)};
    return Outcome::Miss;
  }
  const bool fits = test_layout(arg, frame, PyArray_DATA(array), shape, strides, PyArray_ISWRITEABLE(array)) &&
                    bind_array(target.plan(), arg, frame, PyArray_DATA(array), shape, strides);
  return fits ? Outcome::Done : Outcome::Miss;
}

}  // namespace

Outcome bind_array_object(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  const ArgTarget& own = target.args[static_cast<size_t>(arg.index)];
  if (Py_IS_TYPE(object, target.array_type)) [[likely]] {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_DESCR(array) == own.descr && PyArray_NDIM(array) == arg.rank &&
        (~PyArray_FLAGS(array) & own.sufficient_flags) == 0) [[likely]]
      return bind_array(target.plan(), arg, attempt.frame, PyArray_DATA(array), shape_of(array), strides_of(array))
                 ? Outcome::Done
                 : Outcome::Miss;
  }
  return bind_array_slowly(target, arg, object, attempt);
}

}  // namespace ferrule::python
