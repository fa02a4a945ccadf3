// pybind11's array_t without conversion, which checks dtype and layout; the bodies check rank, extents and, by
// mutable_data(), that the array may be written.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <tuple>
#include <utility>

namespace py = pybind11;
using Array = py::array_t<double, py::array::c_style>;
using Bytes = py::array_t<uint8_t, py::array::c_style>;

static py::ssize_t extent(const py::array& a) {
  if (a.ndim() != 1) throw py::value_error("One axis is expected.");
  return a.shape(0);
}

static void same(py::ssize_t n, const py::array& other) {
  if (extent(other) != n) throw py::value_error("The extents differ.");
}

static const char* const names[] = {"a0",  "a1",  "a2",  "a3",  "a4",  "a5",  "a6",  "a7",  "a8",  "a9",
                                    "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19",
                                    "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29"};

template <size_t>
using ArrayAt = const Array&;

template <size_t... I>
static void define(py::module_& m, const char* name, std::index_sequence<I...>) {
  m.def(
      name,
      [](ArrayAt<I>... in, Array& out) {
        const py::ssize_t n = extent(out);
        (same(n, in), ...);
        out.mutable_data()[0] = double(n);
      },
      py::arg(names[I]).noconvert()..., py::arg(names[sizeof...(I)]).noconvert());
}

struct Counter {
  int64_t calls = 0;
};

PYBIND11_MODULE(with_pybind11, m) {
  define(m, "call1", std::make_index_sequence<0>());
  define(m, "call3", std::make_index_sequence<2>());
  define(m, "call10", std::make_index_sequence<9>());
  define(m, "call30", std::make_index_sequence<29>());
  m.def("call3_converting", [](const Array& a, const Array& b, Array& out) {
    const py::ssize_t n = extent(out);
    same(n, a), same(n, b);
    out.mutable_data()[0] = double(n);
  });
  m.def(
      "scalars",
      [](const Array& a, const Array& b, Array& out, double x, int64_t k, bool t) {
        const py::ssize_t n = extent(out);
        same(n, a), same(n, b);
        out.mutable_data()[0] = x + double(k) + t;
      },
      py::arg("a0").noconvert(), py::arg("a1").noconvert(), py::arg("a2").noconvert(), py::arg("x").noconvert(),
      py::arg("k").noconvert(), py::arg("b").noconvert());
  m.def(
      "nested",
      [](Array& out, const std::tuple<py::none, std::tuple<Array, Array>>& rest) {
        const py::ssize_t n = extent(out);
        same(n, std::get<0>(std::get<1>(rest))), same(n, std::get<1>(std::get<1>(rest)));
        out.mutable_data()[0] = double(n);
      },
      py::arg("a0").noconvert(), py::arg("rest").noconvert());
  m.def("scalar_result", [](const Array& a) { return extent(a) ? a.data()[0] : 0.0; }, py::arg("a0").noconvert());
  m.def(
      "fresh_array",
      [](const Array& a) {
        Array made(extent(a));
        made.mutable_data()[0] = double(made.shape(0));
        return made;
      },
      py::arg("a0").noconvert());
  m.def(
      "workspace",
      [](Array& out, Bytes& w) {
        const py::ssize_t n = extent(out);
        if (extent(w) < 8 * n || reinterpret_cast<uintptr_t>(w.data()) % 64)
          throw py::value_error("The workspace does not fit.");
        w.mutable_data()[0] = 1;
        out.mutable_data()[0] = double(n);
      },
      py::arg("a0").noconvert(), py::arg("w").noconvert());
  py::class_<Counter>(m, "Counter")
      .def(py::init<>())
      .def(
          "count",
          [](Counter& self, Array& out) {
            extent(out);
            out.mutable_data()[0] = double(++self.calls);
          },
          py::arg("a0").noconvert());
  m.def(
      "callback", [](const std::function<double(double)>& g, double x) { return g(x); }, py::arg("g"),
      py::arg("x").noconvert());
}
