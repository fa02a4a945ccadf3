#include <fmt/format.h>

#include "../common/errors.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// The text of an exception, or its class where it has none.
std::string reason_of(PyObject* exception) {
  PyObject* text = PyObject_Str(exception);
  const char* utf8 = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
  std::string reason = utf8 != nullptr ? utf8 : "";
  Py_XDECREF(text);
  PyErr_Clear();  // an exception whose own text fails is still named by its class
  while (!reason.empty() && (reason.back() == '.' || reason.back() == ' ')) reason.pop_back();
  return reason.empty() ? Py_TYPE(exception)->tp_name : reason;
}

// The error that is set, with its traceback; null where none is.
PyObject* take_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (type == nullptr) return nullptr;
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(trace);
  Py_DECREF(type);
  return value;
}

void set_cause(PyObject* cause) {
  PyObject* error = take_error();
  if (error == nullptr || cause == nullptr) {
    Py_XDECREF(cause);
  } else {
    PyException_SetCause(error, Py_NewRef(cause));
    PyException_SetContext(error, cause);
  }
  if (error != nullptr) PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
}

}  // namespace

void refuse(const Asked& asked, Builtin builtin, const std::string& text) {
  PyObject* cause = take_error();
  raise_from(user_error(fmt::format("{}(): '{}' {}", asked.function, asked.argument, text), builtin));
  set_cause(cause);
}

void refuse_with_reason(const Asked& asked, Builtin builtin, const std::string& what) {
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return;
  PyObject* cause = take_error();
  const std::string text = fmt::format("{}: {}.", what, reason_of(cause));
  PyErr_Restore(Py_NewRef(Py_TYPE(cause)), cause, PyException_GetTraceback(cause));
  refuse(asked, builtin, text);
}

void refuse_with_reason(const Asked& asked, const char* way) {
  refuse_with_reason(asked, Builtin::Buffer, fmt::format("cannot be read through {}", way));
}

}  // namespace ferrule::python
