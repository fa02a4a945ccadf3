// From C++ exceptions to the classes of ferrule/errors.py: the one translation that every binding uses.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <cstring>
#include <exception>
#include <new>

#include "base/error.h"

namespace ferrule::python {

// The name in ferrule.errors of the class for an error.
inline const char* class_name(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::Unsupported:
      return "Unsupported";
    case ErrorKind::Build:
      return "BuildError";
    case ErrorKind::Incompatible:
      return "IncompatibleArtifact";
    case ErrorKind::Internal:
      return "InternalError";
    case ErrorKind::User:
      break;
  }
  switch (error.builtin()) {
    case Builtin::Type:
      return "UserTypeError";
    case Builtin::Value:
      return "UserValueError";
    case Builtin::Overflow:
      return "UserOverflowError";
    case Builtin::Buffer:
      return "UserBufferError";
    case Builtin::Index:
      return "UserIndexError";
    case Builtin::Runtime:
      return "UserRuntimeError";
    case Builtin::Memory:
      return "UserMemoryError";
    case Builtin::UnboundLocal:
      return "UserUnboundLocalError";
    case Builtin::ZeroDivision:
      return "UserZeroDivisionError";
    case Builtin::Assertion:
      return "UserAssertionError";
    case Builtin::None:
      break;
  }
  return "UserError";
}

// Sets the Python error for `error`; where ferrule.errors cannot be imported, that import's error stands instead.
inline void raise_from(const Error& error) {
  PyObject* module = PyImport_ImportModule("ferrule.errors");
  if (module == nullptr) return;
  PyObject* type = PyObject_GetAttrString(module, class_name(error));
  Py_DECREF(module);
  if (type == nullptr) return;
  // A program's own text may hold any bytes.
  PyObject* message = PyUnicode_DecodeUTF8(error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "replace");
  if (message != nullptr) PyErr_SetObject(type, message);
  Py_XDECREF(message);
  Py_DECREF(type);
}

// Inside a catch block of code that Python calls directly: sets the Python error for the exception in flight.
inline void raise_current_exception() {
  try {
    throw;
  } catch (const Error& error) {
    raise_from(error);
  } catch (nanobind::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    raise_from(internal_error(error.what()));
  }
}

// For functions bound with nanobind; once a module.
inline void register_errors() {
  nanobind::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise_from(error);
    }
  });
}

}  // namespace ferrule::python
