// Makes an emitted module importable by Python without Python.h: FR_IMPORTABLE(name) once, at the end of the file,
// after the descriptor `ferrule_module_v1`.
//
// Every CPython function is declared weak, so that plain C++ loads the same file, also under LD_BIND_NOW=1, where
// nothing defines them. Inside Python they come from the interpreter; the module definition itself is made by
// ferrule._rt, which knows the Python that runs. After the import the module has one attribute, `kernel`.
#pragma once

#include "ferrule/abi.h"

extern "C" {
struct _object;
struct _object* PyImport_ImportModule(const char* name) __attribute__((weak));
struct _object* PyObject_GetAttrString(struct _object* object, const char* name) __attribute__((weak));
void* PyCapsule_GetPointer(struct _object* capsule, const char* name) __attribute__((weak));
void Py_DecRef(struct _object* object) __attribute__((weak));
}

namespace fr_import {

// What PyInit_ returns: the host's definition of the module; null where there is no Python, or with its error set.
inline struct _object* define(const FrModule* module) {
  typedef struct _object* (*Hook)(const FrModule*);
  if (!PyImport_ImportModule || !PyObject_GetAttrString || !PyCapsule_GetPointer || !Py_DecRef) return nullptr;
  struct _object* host = PyImport_ImportModule("ferrule._rt");
  if (host == nullptr) return nullptr;
  struct _object* capsule = PyObject_GetAttrString(host, "_import_hook");
  Py_DecRef(host);
  if (capsule == nullptr) return nullptr;
  void* hook = PyCapsule_GetPointer(capsule, "ferrule._rt._import_hook");
  Py_DecRef(capsule);
  return hook != nullptr ? reinterpret_cast<Hook>(hook)(module) : nullptr;
}

}  // namespace fr_import

#define FR_IMPORTABLE(name)                                                           \
  extern "C" __attribute__((visibility("default"))) struct _object* PyInit_##name() { \
    return fr_import::define(&ferrule_module_v1);                                     \
  }
