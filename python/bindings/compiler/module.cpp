// The extension module ferrule._compiler: size expressions, the program builder, the passes.
#include <nanobind/nanobind.h>

#include "../common/errors.h"

namespace nb = nanobind;

namespace ferrule {
void bind_compile(nb::module_& m);
}
void bind_index(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_evaluate(nb::module_& m);

NB_MODULE(_compiler, m) {
  nb::set_leak_warnings(false);  // a daemon thread may be within a call when Python ends
  m.doc() = "Ferrule's compiler: size expressions, ProgramBuilder, Program and the passes over it.";
  ferrule::python::register_errors();
  bind_index(m);
  bind_builder(m);
  bind_evaluate(m);
  ferrule::bind_compile(m);
}
