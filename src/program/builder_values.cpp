// Values: element-wise operations and their casts, constants out of range, loads, stores, reductions.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/builder.h"
#include "program/builder_types.h"
#include "program/fold.h"
#include "program/promote.h"

namespace ferrule {
namespace {

// Whether the integer constant (int64, or uint64 bits) is a value of the integer dtype; -1 below it, 1 above it.
int side_of_range(DType constant_dtype, uint64_t bits, DType dtype) {
  const bool negative = constant_dtype != DType::U64 && static_cast<int64_t>(bits) < 0;
  const int width = item_size(dtype) * 8;
  if (kind_of(dtype) == DTypeKind::Unsigned) {
    if (negative) return -1;
    return width < 64 && bits >> width != 0 ? 1 : 0;
  }
  const uint64_t highest = (uint64_t{1} << (width - 1)) - 1;
  if (negative) return static_cast<int64_t>(bits) < -static_cast<int64_t>(highest) - 1 ? -1 : 0;
  return bits > highest ? 1 : 0;
}

std::string integer_text(DType dtype, uint64_t bits) {
  return dtype == DType::U64 ? fmt::format("{}", bits) : fmt::format("{}", static_cast<int64_t>(bits));
}

}  // namespace

ValueId ProgramBuilder::as_value(ValueId id) { return use(id).kind == ValueKind::View ? load(id) : id; }

ValueId ProgramBuilder::cast_scalar_constant(const Op& constant, DType dtype) {
  return this->constant(dtype, convert_bits(constant.dtype, dtype, constant.bits), false);
}

void ProgramBuilder::check_weak_constant(ValueId id, DType dtype) const {
  const ValueType& type = program_.values[id];
  const Op* made_by = definition(id);
  if (!type.weak || made_by == nullptr || made_by->kind != OpKind::Constant) return;
  if (!is_integer(type.dtype) || !is_integer(dtype)) return;
  if (side_of_range(type.dtype, made_by->bits, dtype) != 0)
    throw user_error(
        fmt::format("Python integer {} out of bounds for {}.", integer_text(type.dtype, made_by->bits), name_of(dtype)),
        Builtin::Overflow);
}

// NumPy compares a Python integer outside the range of the array's dtype by its value.
std::optional<bool> ProgramBuilder::compare_out_of_range(ElementOp op, std::span<const ValueId> operands) const {
  for (int constant_at = 0; constant_at < 2; ++constant_at) {
    const ValueId id = operands[constant_at];
    const ValueType& type = program_.values[id];
    const ValueType& other = program_.values[operands[1 - constant_at]];
    const Op* made_by = definition(id);
    if (!type.weak || other.weak || made_by == nullptr || made_by->kind != OpKind::Constant) continue;
    if (!is_integer(type.dtype) || !is_integer(other.dtype)) continue;
    int side = side_of_range(type.dtype, made_by->bits, other.dtype);
    if (side == 0) continue;
    if (constant_at == 0) side = -side;  // as if the constant stood right
    switch (op) {
      case ElementOp::equal:
        return false;
      case ElementOp::not_equal:
        return true;
      case ElementOp::less:
      case ElementOp::less_equal:
        return side > 0;
      default:
        return side < 0;
    }
  }
  return std::nullopt;
}

ValueId ProgramBuilder::elementwise(ElementOp op, std::span<const ValueId> operands) {
  std::vector<OperandType> operand_types;
  bool scalar = true;
  for (const ValueId id : operands) {
    const ValueType& type = use(id);
    operand_types.push_back({type.dtype, type.weak});
    scalar = scalar && type.kind == ValueKind::Scalar;
  }
  const OpTypes types = infer(op, operand_types);
  const std::vector<Expr> shape = scalar ? std::vector<Expr>{} : broadcast_shape(info(op).name, operands);
  if (info(op).rule == DTypeRule::Compare) {
    if (const auto known = compare_out_of_range(op, operands)) {
      const ValueId value = constant(DType::Bool, *known, false);
      return scalar ? value : fill(value, shape);
    }
  }
  for (size_t i = 0; i < operands.size(); ++i) check_weak_constant(operands[i], types.operands[i]);

  Op result{.kind = OpKind::Elementwise, .element_op = op};
  for (size_t i = 0; i < operands.size(); ++i) {
    ValueId value = as_value(operands[i]);
    if (program_.values[value].dtype != types.operands[i]) value = cast(value, types.operands[i]);
    if (program_.values[value].kind == ValueKind::Array) value = broadcast_to(value, shape);
    result.operands.push_back(value);
  }
  return append(std::move(result), scalar ? scalar_type(types.result, types.weak) : array_type(types.result, shape));
}

ValueId ProgramBuilder::cast(ValueId value, DType dtype) {
  require_computable(use(value).dtype, "convert");
  require_computable(dtype, "convert to");
  const ValueId operand = as_value(value);
  const ValueType type = program_.values[operand];
  if (type.dtype == dtype && !type.weak) return operand;
  if (const Op* made_by = definition(operand)) {
    if (made_by->kind == OpKind::Constant) return cast_scalar_constant(*made_by, dtype);
    if (made_by->kind == OpKind::Fill) {
      const ValueId element = made_by->operands[0];
      return fill(cast(element, dtype), type.shape);
    }
  }
  Op op{.kind = OpKind::Cast, .operands = {operand}, .dtype = dtype};
  return append(std::move(op), type.kind == ValueKind::Scalar ? scalar_type(dtype) : array_type(dtype, type.shape));
}

ValueId ProgramBuilder::reweight(ValueId value, bool weak) {
  const ValueType type = use(value);
  if (type.kind != ValueKind::Scalar || type.weak == weak) return value;
  const Op* made_by = definition(value);
  if (made_by != nullptr && made_by->kind == OpKind::Constant) return constant(type.dtype, made_by->bits, weak);
  return append(Op{.kind = OpKind::Cast, .operands = {value}, .dtype = type.dtype}, scalar_type(type.dtype, weak));
}

ValueId ProgramBuilder::iota(std::vector<Expr> shape, int axis) {
  if (axis < 0 || axis >= static_cast<int>(shape.size()))
    throw internal_error(fmt::format("Axis {} of an index array lies outside its {} axes.", axis, shape.size()));
  Op op{.kind = OpKind::Iota, .axes = {axis}};
  op.map.shape = shape;
  return append(std::move(op), array_type(DType::I64, std::move(shape)));
}

ValueId ProgramBuilder::fill(ValueId scalar, std::vector<Expr> shape) {
  const ValueType& type = use(scalar);
  if (type.kind != ValueKind::Scalar) throw internal_error("The element of a filled array must be a scalar.");
  if (shape.empty()) return scalar;
  const DType dtype = type.dtype;
  Op op{.kind = OpKind::Fill, .operands = {scalar}};
  op.map.shape = shape;
  return append(std::move(op), array_type(dtype, std::move(shape)));
}

ValueId ProgramBuilder::load(ValueId view) {
  const ValueType type = use(view);
  if (type.kind != ValueKind::View) throw internal_error("Only a view can be loaded.");
  require_computable(type.dtype, "compute with");
  Op op{.kind = OpKind::Load, .operands = {view}};
  return append(std::move(op), array_type(type.dtype, type.shape));
}

void ProgramBuilder::store(ValueId target, ValueId value) {
  const ValueType type = use(target);
  if (type.kind != ValueKind::View) throw internal_error("The target of a store must be a view.");
  const ValueType& given = use(value);
  check_not_constant(type.buffer);
  require_computable(type.dtype, "store");
  check_weak_constant(value, type.dtype);
  // Leading axes of extent 1 that the target lacks are dropped, as in NumPy's assignment.
  std::vector<Expr> source_shape = given.shape;
  size_t extra = 0;
  while (source_shape.size() - extra > type.shape.size() && facts_.canonical(source_shape[extra]).is_constant(1))
    ++extra;
  source_shape.erase(source_shape.begin(), source_shape.begin() + extra);
  bool fits = source_shape.size() <= type.shape.size();
  for (size_t i = 0; fits && i < source_shape.size(); ++i) {
    const Expr& extent = type.shape[type.shape.size() - source_shape.size() + i];
    fits = source_shape[i] == extent || facts_.canonical(source_shape[i]).is_constant(1) ||
           facts_.prove_equal(source_shape[i], extent);
  }
  if (!fits)
    throw user_error(fmt::format("An array of shape {} cannot be stored into one of shape {}; give it the same shape.",
                                 shape_text(given.shape), shape_text(type.shape)));
  ValueId stored = as_value(value);
  if (program_.values[stored].dtype != type.dtype || program_.values[stored].weak) stored = cast(stored, type.dtype);
  if (extra != 0) {
    IndexMap map{source_shape, std::vector<AxisMap>(extra)};
    for (size_t i = 0; i < source_shape.size(); ++i) map.axes.push_back({0, {{static_cast<int>(i), 1}}});
    stored = remap(stored, std::move(map));
  }
  if (program_.values[stored].kind == ValueKind::Array) stored = broadcast_to(stored, type.shape);
  append(Op{.kind = OpKind::Store, .operands = {target, stored}});
  ++memory_version_;
}

ValueId ProgramBuilder::reduce(ReduceOp op, ValueId value, std::vector<int> axes, std::optional<DType> dtype) {
  const ValueType given = use(value);
  if (!dtype) dtype = infer(op, given.dtype);
  require_computable(*dtype, "compute with");
  if (!std::is_sorted(axes.begin(), axes.end()) || std::adjacent_find(axes.begin(), axes.end()) != axes.end() ||
      (!axes.empty() && (axes.front() < 0 || axes.back() >= static_cast<int>(given.shape.size()))))
    throw internal_error(
        fmt::format("Axes of '{}' must ascend within the operand's {} axes.", info(op).name, given.shape.size()));
  ValueId operand = as_value(value);
  if (given.dtype != *dtype || given.weak) operand = cast(operand, *dtype);
  if (axes.empty()) return operand;
  std::vector<Expr> shape;
  for (size_t i = 0; i < given.shape.size(); ++i)
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int>(i))) shape.push_back(given.shape[i]);
  Op reduction{
      .kind = OpKind::Reduce, .operands = {operand}, .reduce_op = op, .dtype = *dtype, .axes = std::move(axes)};
  return append(std::move(reduction), array_type(*dtype, std::move(shape)));
}

}  // namespace ferrule
