// Where calls of modules for target 'reference' find the evaluator: in ferrule._compiler, imported at the first of
// them.
#include <nanobind/nanobind.h>

#include <stdexcept>

#include "bindings.h"
#include "runtime/evaluator.h"

namespace nb = nanobind;

namespace ferrule::python {
namespace {

void import_evaluator() {
  const nb::gil_scoped_acquire locked;
  try {
    const nb::object capsule = nb::module_::import_("ferrule._compiler").attr("evaluator");
    void* address = PyCapsule_GetPointer(capsule.ptr(), "ferrule.evaluator");
    if (address == nullptr) throw nb::python_error();
    set_evaluator(reinterpret_cast<Evaluate>(address));
  } catch (const nb::python_error& error) {
    throw std::runtime_error(error.what());  // the other one must end with the GIL held
  }
}

}  // namespace

void provide_evaluator() { set_evaluator_source(import_evaluator); }

}  // namespace ferrule::python
