// nanobind's ndarray, which checks dtype, rank, device, layout and, for what is not const, that it may be written; the
// bodies compare the extents.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

namespace nb = nanobind;
using In = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Fresh = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using FreshTensor = nb::ndarray<nb::pytorch, double, nb::ndim<1>>;

static void same(size_t extent, size_t other) {
  if (extent != other) throw nb::value_error("The extents differ.");
}

static const char* const names[] = {"a0",  "a1",  "a2",  "a3",  "a4",  "a5",  "a6",  "a7",  "a8",  "a9",
                                    "a10", "a11", "a12", "a13", "a14", "a15", "a16", "a17", "a18", "a19",
                                    "a20", "a21", "a22", "a23", "a24", "a25", "a26", "a27", "a28", "a29"};

template <size_t>
using InAt = const In&;

template <size_t... I>
static void define(nb::module_& m, const char* name, std::index_sequence<I...>) {
  m.def(
      name,
      [](InAt<I>... in, const Out& out) {
        (same(out.shape(0), in.shape(0)), ...);
        out.data()[0] = double(out.shape(0));
      },
      nb::arg(names[I]).noconvert()..., nb::arg(names[sizeof...(I)]).noconvert());
}

template <class Made>
static Made fresh(const In& a) {
  double* data = new double[a.shape(0)];
  data[0] = double(a.shape(0));
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return Made(data, {a.shape(0)}, owner);
}

struct Counter {
  int64_t calls = 0;
};

NB_MODULE(with_nanobind, m) {
  define(m, "call1", std::make_index_sequence<0>());
  define(m, "call3", std::make_index_sequence<2>());
  define(m, "call10", std::make_index_sequence<9>());
  define(m, "call30", std::make_index_sequence<29>());
  m.def(
      "scalars",
      [](const In& a, const In& b, const Out& out, double x, int64_t k, bool t) {
        same(out.shape(0), a.shape(0)), same(out.shape(0), b.shape(0));
        out.data()[0] = x + double(k) + t;
      },
      nb::arg("a0").noconvert(), nb::arg("a1").noconvert(), nb::arg("a2").noconvert(), nb::arg("x").noconvert(),
      nb::arg("k").noconvert(), nb::arg("b").noconvert());
  m.def(
      "nested",
      [](const Out& out, const std::tuple<nb::handle, std::tuple<In, In>>& rest) {
        if (!std::get<0>(rest).is_none()) throw nb::type_error("None is expected.");
        const auto& [a, b] = std::get<1>(rest);
        same(out.shape(0), a.shape(0)), same(out.shape(0), b.shape(0));
        out.data()[0] = double(out.shape(0));
      },
      nb::arg("a0").noconvert(), nb::arg("rest").noconvert());
  m.def("scalar_result", [](const In& a) { return a.data()[0]; }, nb::arg("a0").noconvert());
  m.def("fresh_array", fresh<Fresh>, nb::arg("a0").noconvert());
  m.def("fresh_tensor", fresh<FreshTensor>, nb::arg("a0").noconvert());
  m.def(
      "workspace",
      [](const Out& out, const Bytes& w) {
        if (w.shape(0) < 8 * out.shape(0) || reinterpret_cast<uintptr_t>(w.data()) % 64)
          throw nb::value_error("The workspace does not fit.");
        w.data()[0] = 1;
        out.data()[0] = double(out.shape(0));
      },
      nb::arg("a0").noconvert(), nb::arg("w").noconvert());
  nb::class_<Counter>(m, "Counter")
      .def(nb::init<>())
      .def(
          "count", [](Counter& self, const Out& out) { out.data()[0] = double(++self.calls); },
          nb::arg("a0").noconvert());
  m.def(
      "callback", [](const std::function<double(double)>& g, double x) { return g(x); }, nb::arg("g"),
      nb::arg("x").noconvert());
}
