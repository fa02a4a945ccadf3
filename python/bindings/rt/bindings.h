// The parts of the module ferrule._rt.
#pragma once

#include <nanobind/nanobind.h>

namespace ferrule {

// Artifact and store.
void bind_artifact(nanobind::module_& m);

}  // namespace ferrule

namespace ferrule::python {

// Adds the capsule that emitted modules look up when Python imports them (ferrule/rt/import.h); false with a Python
// error set.
bool add_import_hook(PyObject* module);

// Has ferrule._compiler imported where a module for target 'reference' is called.
void provide_evaluator();

}  // namespace ferrule::python
