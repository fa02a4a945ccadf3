#include "convert.h"

#include <fmt/format.h>

#include <string>
#include <unordered_map>

#include "base/error.h"

namespace nb = nanobind;

namespace ferrule::python {
namespace {

std::string_view text_of(nb::handle value) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

template <class Op>
Op to_op(nb::handle value, int count, std::optional<Op> (*from_name)(std::string_view), const char* what) {
  if (PyLong_Check(value.ptr())) {
    const long number = PyLong_AsLong(value.ptr());
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    if (number < 0 || number >= count) throw user_error(fmt::format("There is no {} {}.", what, number));
    return static_cast<Op>(number);
  }
  if (!PyUnicode_Check(value.ptr()))
    throw user_error(fmt::format("The {} must be its name or number.", what), Builtin::Type);
  const auto op = from_name(text_of(value));
  if (!op) throw user_error(fmt::format("There is no {} '{}'.", what, text_of(value)));
  return *op;
}

}  // namespace

DType to_dtype(nb::handle value) {
  if (PyUnicode_Check(value.ptr())) {
    const std::string_view name = text_of(value);
    auto dtype = dtype_from_name(name);
    if (!dtype) dtype = dtype_from_short_name(name);
    if (!dtype)
      throw user_error(fmt::format("There is no dtype '{}'; the names are NumPy's, such as 'float64'.", name));
    return *dtype;
  }
  return nb::cast<DType>(value);
}

ElementOp to_element_op(nb::handle value) {
  return to_op<ElementOp>(value, element_op_count(), element_op_from_name, "element-wise operation");
}

ReduceOp to_reduce_op(nb::handle value) {
  return to_op<ReduceOp>(value, reduce_op_count(), reduce_op_from_name, "reduction");
}

Expr to_expr(nb::handle value) {
  if (PyLong_Check(value.ptr())) {
    const long long number = PyLong_AsLongLong(value.ptr());
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    return Expr(number);
  }
  return nb::cast<Expr>(value);
}

std::vector<Expr> to_exprs(nb::handle values) {
  std::vector<Expr> result;
  for (nb::handle value : nb::iter(values)) result.push_back(to_expr(value));
  return result;
}

IndexMap to_index_map(nb::handle shape, nb::handle axes) {
  IndexMap map{to_exprs(shape), {}};
  const int rank = static_cast<int>(map.shape.size());
  for (nb::handle item : nb::iter(axes)) {
    AxisMap axis{to_expr(item[0]), {}};
    for (nb::handle term : nb::iter(item[1])) {
      const int at = nb::cast<int>(term[0]);
      if (at < 0 || at >= rank)
        throw user_error(fmt::format("Axis {} of an index map lies outside its {} axes.", at, rank));
      if (!axis.terms.empty() && axis.terms.back().axis >= at)
        throw user_error("The terms of an index map must ascend by axis.");
      axis.terms.push_back({at, to_expr(term[1])});
    }
    map.axes.push_back(std::move(axis));
  }
  return map;
}

}  // namespace ferrule::python
