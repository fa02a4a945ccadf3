// The Python type Kernel: one loaded module that is called with strict rules and clear refusals.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "target.h"

namespace ferrule::python {

// What an unloaded kernel still tells of itself.
struct Remains {
  std::string name, signature, digest, file_digest;
  std::vector<std::pair<std::string, std::string>> facts;
};

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weakrefs;
  Target* target;                           // without a handle once the kernel is unloaded
  bool watched;                             // by hooks of its own
  std::vector<PyObject*>* specialisations;  // borrowed SpecialisationObjects that share the handle
  Remains* remains;                         // null while the kernel is loaded
};

// Makes the type and adds it to a module; false with a Python error set.
bool add_kernel_type(PyObject* module);

// Whether the object is a Kernel or of a class derived from it.
bool is_kernel(PyObject* object);

// A new Kernel with a handle of its own; null with a Python error set.
PyObject* make_kernel(std::shared_ptr<const Module> module);

}  // namespace ferrule::python
