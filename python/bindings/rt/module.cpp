// ferrule._rt: load and call, all that a warm start maps.
#include "../common/errors.h"
#include "array_object.h"
#include "bindings.h"
#include "function_object.h"
#include "kernel_object.h"
#include "numpy_api.h"
#include "result_memory.h"
#include "runtime/threads.h"
#include "specialisation.h"
#include "watch.h"

NB_MODULE(_rt, m) {
  namespace py = ferrule::python;
  nanobind::set_leak_warnings(false);  // a daemon thread may be within a call when Python ends
  m.doc() = "Artifacts, loaded kernels and calls.";
  if (!py::import_numpy_api() || !py::add_kernel_type(m.ptr()) || !py::add_specialisation_type(m.ptr()) ||
      !py::add_function_type(m.ptr()) || !py::add_array_type(m.ptr()) || !py::add_array_functions(m.ptr()) ||
      !py::add_import_hook(m.ptr()) || !py::add_watch_function(m.ptr()) || !py::add_result_memory(m.ptr()))
    throw nanobind::python_error();
  py::register_errors();
  m.def("default_num_threads", &ferrule::default_num_threads,
        "Threads of a parallel region where the call does not say.");
  py::provide_evaluator();
  ferrule::bind_artifact(m);
}
