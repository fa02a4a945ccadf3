// The same three signatures with nanobind's ndarray, which checks dtype, rank, device and layout.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;
using In = nb::ndarray<const double, nb::numpy, nb::ndim<1>, nb::c_contig>;
using Out = nb::ndarray<double, nb::numpy, nb::ndim<1>, nb::c_contig>;

NB_MODULE(with_nanobind, m) {
  m.def("call1", [](Out out) { out.data()[0] = 1; }, nb::arg("out").noconvert());
  m.def(
      "call3", [](In, In, Out out) { out.data()[0] = 1; }, nb::arg("a0").noconvert(), nb::arg("a1").noconvert(),
      nb::arg("out").noconvert());
  m.def(
      "call10", [](In, In, In, In, In, In, In, In, In, Out out) { out.data()[0] = 1; }, nb::arg("a0").noconvert(),
      nb::arg("a1").noconvert(), nb::arg("a2").noconvert(), nb::arg("a3").noconvert(), nb::arg("a4").noconvert(),
      nb::arg("a5").noconvert(), nb::arg("a6").noconvert(), nb::arg("a7").noconvert(), nb::arg("a8").noconvert(),
      nb::arg("out").noconvert());
}
