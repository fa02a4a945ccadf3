// ProgramBuilder for Python: what capture calls, thousands of times a trace.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "convert.h"
#include "program/builder.h"
#include "program/fold.h"
#include "program/program_text.h"
#include "program/promote.h"
#include "program/verify.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ferrule;
using namespace ferrule::python;

void bind_tables(nb::module_& m);
void bind_program(nb::module_& m);

namespace {

// A closed region until an operation takes it; each is used once.
struct ClosedRegion {
  std::unique_ptr<Region> region;

  Region take() {
    if (!region) throw user_error("A region can be given to one operation only.", Builtin::Runtime);
    Region taken = std::move(*region);
    region.reset();
    return taken;
  }
};

std::vector<ValueId> to_ids(nb::handle values) {
  std::vector<ValueId> ids;
  for (nb::handle value : nb::iter(values)) ids.push_back(nb::cast<ValueId>(value));
  return ids;
}

// The bits of a constant: an int of the dtype's bytes as they are.
ValueId add_constant(ProgramBuilder& builder, nb::handle dtype, nb::handle bits, bool weak) {
  const unsigned long long value = PyLong_AsUnsignedLongLong(bits.ptr());
  if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw nb::python_error();
  return builder.constant(to_dtype(dtype), value, weak);
}

// A Python bool, int or float as a weak constant.
ValueId add_python_number(ProgramBuilder& builder, nb::handle value) {
  if (PyBool_Check(value.ptr())) return builder.constant(DType::Bool, value.ptr() == Py_True, true);
  if (PyFloat_Check(value.ptr())) {
    const double number = PyFloat_AS_DOUBLE(value.ptr());
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return builder.constant(DType::F64, bits, true);
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  if (overflow == 0) return builder.constant(DType::I64, static_cast<uint64_t>(number), true);
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
    if (!PyErr_Occurred()) return builder.constant(DType::U64, large, true);
    PyErr_Clear();
  }
  throw user_error("A Python integer of more than 64 bits has no dtype; convert it to a float first.",
                   Builtin::Overflow);
}

Condition to_condition(nb::handle value) { return nb::cast<Condition>(value); }

}  // namespace

void bind_builder(nb::module_& m) {
  nb::enum_<DType>(m, "DType", "Element types.")
      .value("bool", DType::Bool)
      .value("int8", DType::I8)
      .value("int16", DType::I16)
      .value("int32", DType::I32)
      .value("int64", DType::I64)
      .value("uint8", DType::U8)
      .value("uint16", DType::U16)
      .value("uint32", DType::U32)
      .value("uint64", DType::U64)
      .value("float16", DType::F16)
      .value("bfloat16", DType::BF16)
      .value("float32", DType::F32)
      .value("float64", DType::F64)
      .value("complex64", DType::C64)
      .value("complex128", DType::C128);
  nb::enum_<ValueKind>(m, "ValueKind", "Number, immutable array, or address.")
      .value("Scalar", ValueKind::Scalar)
      .value("Array", ValueKind::Array)
      .value("View", ValueKind::View);
  nb::enum_<Layout>(m, "Layout", "Layout classes of array arguments.")
      .value("C", Layout::C)
      .value("F", Layout::F)
      .value("Inner", Layout::Inner)
      .value("Any", Layout::Any);
  nb::enum_<FrErrorCode>(m, "ErrorCode", "What a failed check raises at run time.", nb::is_arithmetic())
      .value("INDEX", FR_ERR_INDEX)
      .value("SHAPE", FR_ERR_SHAPE)
      .value("DOMAIN", FR_ERR_DOMAIN)
      .value("ASSERT", FR_ERR_ASSERT)
      .value("MEMORY", FR_ERR_MEMORY)
      .value("VALUE", FR_ERR_VALUE)
      .value("UNDEFINED", FR_ERR_UNDEFINED)
      .value("OVERFLOW", FR_ERR_OVERFLOW)
      .value("ZERO_DIVISION", FR_ERR_ZERO_DIVISION)
      .value("TYPE", FR_ERR_TYPE)
      .value("RAISE", FR_ERR_RAISE);
  nb::enum_<FrSymbolSource>(m, "SymbolSource", "Where a call finds the value of a symbol.", nb::is_arithmetic())
      .value("EXTENT", FR_SYMBOL_EXTENT)
      .value("STRIDE", FR_SYMBOL_STRIDE)
      .value("SCALAR", FR_SYMBOL_SCALAR)
      .value("EXPLICIT", FR_SYMBOL_EXPLICIT);

  nb::class_<IndexMap>(m, "IndexMap", "A window: its shape, and start and (axis, step) terms for each source axis.")
      .def(
          "__init__",
          [](IndexMap* self, nb::handle shape, nb::handle axes) { new (self) IndexMap(to_index_map(shape, axes)); },
          "shape"_a, "axes"_a)
      .def_static(
          "identity", [](nb::handle shape) { return IndexMap::identity(to_exprs(shape)); }, "shape"_a)
      .def("then", &IndexMap::then, "outer"_a, "The map that looks through `outer` at what this one shows.")
      .def_ro("shape", &IndexMap::shape)
      .def_prop_ro("axes",
                   [](const IndexMap& map) {
                     nb::list axes;
                     for (const AxisMap& axis : map.axes) {
                       nb::list terms;
                       for (const AxisTerm& term : axis.terms) terms.append(nb::make_tuple(term.axis, term.step));
                       axes.append(nb::make_tuple(axis.start, terms));
                     }
                     return axes;
                   })
      .def(
          "is_identity", [](const IndexMap& map, nb::handle shape) { return map.is_identity(to_exprs(shape)); },
          "shape"_a)
      .def("__eq__", [](const IndexMap& a, const IndexMap& b) { return a == b; }, nb::is_operator());

  nb::class_<ValueType>(m, "ValueType", "Kind, dtype and shape of a value; buffer and map of a view.")
      .def_ro("kind", &ValueType::kind)
      .def_ro("dtype", &ValueType::dtype)
      .def_ro("weak", &ValueType::weak)
      .def_ro("shape", &ValueType::shape)
      .def_ro("buffer", &ValueType::buffer)
      .def_ro("map", &ValueType::map);

  nb::class_<ProgramBuilder::Parameter>(m, "Parameter", "Type of a region's parameter; strides for a view.")
      .def(
          "__init__",
          [](ProgramBuilder::Parameter* self, ValueKind kind, nb::handle dtype, nb::handle shape, nb::handle strides,
             bool weak) {
            new (self) ProgramBuilder::Parameter{
                {.kind = kind, .dtype = to_dtype(dtype), .weak = weak, .shape = to_exprs(shape)}, to_exprs(strides)};
          },
          "kind"_a, "dtype"_a, "shape"_a = nb::tuple(), "strides"_a = nb::tuple(), "weak"_a = false)
      .def_ro("type", &ProgramBuilder::Parameter::type)
      .def_ro("strides", &ProgramBuilder::Parameter::strides);

  nb::class_<ClosedRegion>(m, "Region", "A closed region; give it to one operation, or drop it.");

  using B = ProgramBuilder;
  nb::class_<B>(m, "ProgramBuilder", "Builds a Program; infers types, inserts casts and broadcasts, composes views.")
      .def(nb::init<std::string>(), "name"_a)
      .def("facts", &B::facts, nb::rv_policy::reference_internal)
      .def("symbols", &B::symbols, nb::rv_policy::reference_internal)
      .def(
          "add_symbol",
          [](B& b, std::string name, SymbolKind kind, bool nonnegative) {
            return b.symbols().add(std::move(name), kind, nonnegative);
          },
          "name"_a, "kind"_a, "nonnegative"_a)
      .def("type", &B::type, "value"_a, nb::rv_policy::copy)
      .def("visible", &B::visible, "value"_a)
      .def(
          "array_argument",
          [](B& b, std::string name, nb::handle dtype, nb::handle shape, nb::handle strides, Layout layout,
             int inner_axis, bool hidden) {
            return b.array_argument(std::move(name), to_dtype(dtype), to_exprs(shape), to_exprs(strides), layout,
                                    inner_axis, hidden);
          },
          "name"_a, "dtype"_a, "shape"_a, "strides"_a = nb::tuple(), "layout"_a = Layout::C, "inner_axis"_a = 0,
          "hidden"_a = false)
      .def(
          "scalar_argument",
          [](B& b, std::string name, nb::handle dtype, bool weak) {
            return b.scalar_argument(std::move(name), to_dtype(dtype), weak);
          },
          "name"_a, "dtype"_a, "weak"_a = false)
      .def("static_argument", &B::static_argument, "name"_a, "repr"_a)
      .def(
          "argument_symbol",
          [](B& b, int index) -> std::optional<SymbolId> {
            const SymbolId symbol = b.argument(index).symbol;
            if (symbol == kNone) return std::nullopt;
            return symbol;
          },
          "index"_a, "Symbol of a weak integer argument.")
      .def(
          "set_argument",
          [](B& b, int index, std::optional<bool> keyword_only, std::optional<std::string> default_text) {
            if (index < 0 || index >= static_cast<int>(b.program().arguments.size()))
              throw user_error("There is no argument " + std::to_string(index) + ".", Builtin::Index);
            if (keyword_only) b.argument(index).keyword_only = *keyword_only;
            if (default_text) b.argument(index).default_text = *default_text;
          },
          "index"_a, "keyword_only"_a = nb::none(), "default_text"_a = nb::none())
      .def(
          "symbol_source",
          [](B& b, SymbolId symbol, int source, int argument, int axis, int64_t coefficient, int64_t offset) {
            b.symbol_source({symbol, static_cast<uint8_t>(source), argument, axis, coefficient, offset});
          },
          "symbol"_a, "source"_a, "argument"_a = -1, "axis"_a = 0, "coefficient"_a = 1, "offset"_a = 0)
      .def(
          "constant_array",
          [](B& b, std::string name, nb::handle dtype, std::vector<int64_t> shape, nb::bytes data) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(data.c_str());
            return b.constant_array(std::move(name), to_dtype(dtype), std::move(shape), {bytes, bytes + data.size()});
          },
          "name"_a, "dtype"_a, "shape"_a, "data"_a, "A view of a constant array from its bytes in C order.")
      .def("set_site", &B::set_site, "site"_a)
      .def(
          "add_site",
          [](B& b, std::string file, int line, std::string function, std::string what, int caller) {
            return b.add_site({std::move(file), line, std::move(function), std::move(what), caller});
          },
          "file"_a, "line"_a, "function"_a, "what"_a = "", "caller"_a = -1)
      .def("constant", add_constant, "dtype"_a, "bits"_a, "weak"_a = false)
      .def("number", add_python_number, "value"_a, "A Python bool, int or float as a weak constant.")
      .def("reweight", &B::reweight, "value"_a, "weak"_a)
      .def(
          "size", [](B& b, nb::handle expr) { return b.size(to_expr(expr)); }, "expr"_a)
      .def("symbolize", &B::symbolize, "scalar"_a, "name"_a, "nonnegative"_a)
      .def(
          "elementwise",
          [](B& b, nb::handle op, nb::handle operands) { return b.elementwise(to_element_op(op), to_ids(operands)); },
          "op"_a, "operands"_a)
      .def(
          "cast", [](B& b, ValueId value, nb::handle dtype) { return b.cast(value, to_dtype(dtype)); }, "value"_a,
          "dtype"_a)
      .def(
          "iota", [](B& b, nb::handle shape, int axis) { return b.iota(to_exprs(shape), axis); }, "shape"_a, "axis"_a)
      .def(
          "fill", [](B& b, ValueId scalar, nb::handle shape) { return b.fill(scalar, to_exprs(shape)); }, "scalar"_a,
          "shape"_a)
      .def(
          "window", [](B& b, ValueId value, const IndexMap& map) { return b.window(value, map); }, "value"_a, "map"_a)
      .def(
          "window",
          [](B& b, ValueId value, nb::handle shape, nb::handle axes) {
            return b.window(value, to_index_map(shape, axes));
          },
          "value"_a, "shape"_a, "axes"_a)
      .def(
          "reshape",
          [](B& b, ValueId value, nb::handle shape) -> std::optional<ValueId> {
            const ValueId result = b.reshape(value, to_exprs(shape));
            if (result == kNone) return std::nullopt;
            return result;
          },
          "value"_a, "shape"_a, "None where NumPy would copy: copy into a new buffer and reshape that.")
      .def("load", &B::load, "view"_a)
      .def("view_strides", &B::view_strides, "view"_a)
      .def("store", &B::store, "target"_a, "value"_a)
      .def(
          "alloc",
          [](B& b, std::string name, nb::handle dtype, nb::handle shape) {
            return b.alloc(std::move(name), to_dtype(dtype), to_exprs(shape));
          },
          "name"_a, "dtype"_a, "shape"_a)
      .def(
          "reduce",
          [](B& b, nb::handle op, ValueId value, std::vector<int> axes, nb::handle dtype) {
            return b.reduce(to_reduce_op(op), value, std::move(axes),
                            dtype.is_none() ? std::nullopt : std::optional<DType>(to_dtype(dtype)));
          },
          "op"_a, "value"_a, "axes"_a, "dtype"_a = nb::none())
      .def(
          "check",
          [](B& b, nb::handle condition, int code) {
            if (PyLong_Check(condition.ptr()))
              b.check(nb::cast<ValueId>(condition), code);
            else
              b.check(to_condition(condition), code);
          },
          "condition"_a, "code"_a, "Traps where a bool scalar or a Condition does not hold.")
      .def(
          "parameter",
          [](B& b, ValueId value) {
            const ValueType& type = b.type(value);
            return ProgramBuilder::Parameter{
                type, type.kind == ValueKind::View ? b.view_strides(value) : std::vector<Expr>{}};
          },
          "value"_a, "A parameter of the value's own type.")
      .def(
          "open_region",
          [](B& b, nb::handle params) {
            std::vector<ProgramBuilder::Parameter> list;
            for (nb::handle param : nb::iter(params)) list.push_back(nb::cast<ProgramBuilder::Parameter>(param));
            return b.open_region(list);
          },
          "params"_a = nb::tuple())
      .def(
          "close_region",
          [](B& b, nb::handle yields) {
            return ClosedRegion{std::make_unique<Region>(b.close_region(to_ids(yields)))};
          },
          "yields"_a = nb::tuple())
      .def("depth", &B::depth)
      .def(
          "for_loop",
          [](B& b, SymbolId variable, nb::handle lo, nb::handle hi, nb::handle step, nb::handle initial,
             ClosedRegion& body) {
            return b.for_loop(variable, to_expr(lo), to_expr(hi), to_expr(step), to_ids(initial), body.take());
          },
          "variable"_a, "lo"_a, "hi"_a, "step"_a, "initial"_a, "body"_a)
      .def(
          "while_loop",
          [](B& b, nb::handle initial, ClosedRegion& test, ClosedRegion& body) {
            return b.while_loop(to_ids(initial), test.take(), body.take());
          },
          "initial"_a, "test"_a, "body"_a)
      .def(
          "if_else",
          [](B& b, nb::handle condition, ClosedRegion& then_region, ClosedRegion& else_region) {
            if (PyLong_Check(condition.ptr()))
              return b.if_else(nb::cast<ValueId>(condition), then_region.take(), else_region.take());
            return b.if_else(to_condition(condition), then_region.take(), else_region.take());
          },
          "condition"_a, "then_region"_a, "else_region"_a)
      .def(
          "guard",
          [](B& b, const Condition& condition, std::string text, bool compares_sources) {
            b.guard({condition, std::move(text), compares_sources});
          },
          "condition"_a, "text"_a, "compares_sources"_a = false)
      .def(
          "result", [](B& b, ValueId value) { b.result({ResultKind::Value, value}); }, "value"_a)
      .def(
          "result_argument", [](B& b, int argument) { b.result({ResultKind::Argument, kNone, argument}); },
          "argument"_a, "The caller's own object.")
      .def("result_none", [](B& b) { b.result({ResultKind::None}); })
      .def("set_returns_tuple", &B::set_returns_tuple, "tuple"_a)
      .def("set_options", &B::set_options, "bounds_check"_a = true, "arguments_may_alias"_a = false)
      .def("finish", &B::finish);

  bind_tables(m);
  bind_program(m);
}
