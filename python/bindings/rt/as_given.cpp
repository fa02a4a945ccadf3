// New results as arrays of the library that the arguments are of. The rule is that of ferrule/foreign.py; one new array
// for arguments with a C exchange table, the common case, is handed over without Python.
#include "../common/errors.h"
#include "array/tensor.h"
#include "array_object.h"
#include "call_target.h"
#include "foreign_array.h"
#include "numpy_api.h"
#include "type_facts.h"

namespace ferrule::python {
namespace {

// The table of the first argument that is an array of another library; null where that one has none, or none is one.
const dlpack::Exchange* first_table(const Target& target, PyObject* const* given) {
  for (size_t i = 0; i < target.args.size(); ++i) {
    PyObject* object = given[i];
    if (object == nullptr || PyArray_Check(object) || PyType_Check(object) || array_of(object) != nullptr) continue;
    const TypeFacts facts = facts_of(Py_TYPE(object));
    if (!facts.no_array && (facts.exchange != nullptr || facts.dlpack || facts.interface)) return facts.exchange;
  }
  return nullptr;
}

bool is_given(const Target& target, PyObject* const* given, const PyObject* object) {
  for (size_t i = 0; i < target.args.size(); ++i)
    if (given[i] == object) return true;
  return false;
}

// What the table makes of a new array: a new reference, or null with a Python error set.
PyObject* hand_over(const dlpack::Exchange& table, PyObject* ndarray, const char* function) try {
  Array array;
  if (!take_ndarray(ndarray, {function, "result"}, array)) return nullptr;
  dlpack::ManagedVersioned* lent = lend_versioned_tensor(array, false);
  void* made = nullptr;
  // Whether a tensor that was refused is the table's already is not said; lost memory is better than memory freed
  // twice.
  return table.to_object(lent, &made) == 0 ? static_cast<PyObject*>(made) : nullptr;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

// Tables do not tell whether what they are given may be written to.
bool goes_through(const dlpack::Exchange* table, PyObject* ndarray) {
  return table != nullptr && table->to_object != nullptr &&
         PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(ndarray));
}

}  // namespace

Called as_given(const Target& target, const Called& called, PyObject* const* given) {
  const PyObject* result = called.result;
  if (result == nullptr ||
      !(PyArray_Check(result) || PyTuple_Check(result) || PyList_Check(result) || PyDict_Check(result)))
    return called;  // numbers are of no library
  if (PyArray_CheckExact(called.result)) {
    const dlpack::Exchange* table = first_table(target, given);
    if (goes_through(table, called.result) && !is_given(target, given, called.result)) {
      PyObject* made = hand_over(*table, called.result, target.plan().module->name);
      Py_DECREF(called.result);
      return {made, made != nullptr ? Outcome::Done : Outcome::Raised};
    }
  }
  PyObject* foreign = PyImport_ImportModule("ferrule.foreign");
  const auto n = static_cast<Py_ssize_t>(target.args.size());
  PyObject* arguments = foreign != nullptr ? PyTuple_New(n) : nullptr;
  for (Py_ssize_t i = 0; arguments != nullptr && i < n; ++i)
    PyTuple_SET_ITEM(arguments, i, Py_NewRef(given[i] != nullptr ? given[i] : Py_None));
  PyObject* made =
      arguments != nullptr ? PyObject_CallMethod(foreign, "like_given", "OO", called.result, arguments) : nullptr;
  Py_XDECREF(arguments);
  Py_XDECREF(foreign);
  Py_DECREF(called.result);
  return {made, made != nullptr ? Outcome::Done : Outcome::Raised};
}

PyObject* hand_over_like(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2 || !PyArray_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "_hand_over takes an ndarray and an array of the library that it is for.");
    return nullptr;
  }
  const TypeFacts facts = facts_of(Py_TYPE(args[1]));
  if (!goes_through(facts.exchange, args[0])) Py_RETURN_NONE;
  return hand_over(*facts.exchange, args[0], "ferrule");
}

}  // namespace ferrule::python
