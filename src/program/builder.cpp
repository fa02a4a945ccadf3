#include "program/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/fold.h"
#include "program/promote.h"

namespace ferrule {
namespace {

void require_computable(DType dtype, std::string_view what) {
  if (!is_computable(dtype))
    throw unsupported(fmt::format("Ferrule does not {} {} yet; use float32 or float64 arrays.", what, name_of(dtype)));
}

size_t mix(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29); }

size_t hash_map(size_t seed, const IndexMap& map) {
  for (const Expr& extent : map.shape) seed = mix(seed, extent.hash());
  for (const AxisMap& axis : map.axes) {
    seed = mix(seed, axis.start.hash());
    for (const AxisTerm& term : axis.terms) seed = mix(seed, mix(term.axis, term.step.hash()));
  }
  return seed;
}

bool is_pure(OpKind kind) {
  switch (kind) {
    case OpKind::Constant:
    case OpKind::Size:
    case OpKind::Elementwise:
    case OpKind::Cast:
    case OpKind::Iota:
    case OpKind::Fill:
    case OpKind::Remap:
    case OpKind::View:
    case OpKind::Load:  // between two changes of memory
      return true;
    default:
      return false;
  }
}

size_t hash_op(const Op& op, const ValueType& type) {
  size_t seed = mix(static_cast<size_t>(op.kind), static_cast<size_t>(type.dtype) * 2 + type.weak);
  seed = mix(seed, static_cast<size_t>(op.element_op));
  seed = mix(seed, op.bits);
  if (op.kind == OpKind::View) return hash_map(mix(seed, type.buffer), type.map);
  for (const ValueId id : op.operands) seed = mix(seed, id);
  for (const int axis : op.axes) seed = mix(seed, static_cast<size_t>(axis));
  if (op.kind == OpKind::Size) seed = mix(seed, op.expr.hash());
  return hash_map(seed, op.map);
}

bool same_op(const Op& a, const ValueType& a_type, const Op& b, const ValueType& b_type) {
  if (a.kind != b.kind || a_type.dtype != b_type.dtype || a_type.weak != b_type.weak) return false;
  if (a.kind == OpKind::View) return a_type.buffer == b_type.buffer && a_type.map == b_type.map;
  return a.element_op == b.element_op && a.bits == b.bits && a.operands == b.operands && a.axes == b.axes &&
         a.map == b.map && a.expr == b.expr;
}

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

ValueType scalar_type(DType dtype, bool weak = false) {
  return {.kind = ValueKind::Scalar, .dtype = dtype, .weak = weak};
}

ValueType array_type(DType dtype, std::vector<Expr> shape) {
  if (shape.empty()) return scalar_type(dtype);
  return {.kind = ValueKind::Array, .dtype = dtype, .shape = std::move(shape)};
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::string name) : facts_(&program_.symbols) {
  program_.name = std::move(name);
  stack_.push_back({&program_.body, 0, {}});
  live_regions_.push_back(true);
}

const Op* ProgramBuilder::definition(ValueId id) const {
  const Definition& where = definitions_[id];
  if (where.region == nullptr || !live_regions_[where.serial]) return nullptr;
  return &where.region->ops[where.index];
}

bool ProgramBuilder::visible(ValueId value) const {
  return value < definitions_.size() && live_regions_[definitions_[value].serial];
}

const ValueType& ProgramBuilder::use(ValueId id) const {
  if (id >= definitions_.size()) throw internal_error(fmt::format("There is no value {} in this program.", id));
  if (!visible(id))
    throw user_error(
        "A value that was computed inside a loop or branch is used after it ended; carry it out by a name.",
        Builtin::Runtime);
  return program_.values[id];
}

ValueId ProgramBuilder::new_value(ValueType type) {
  const ValueId id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back(std::move(type));
  definitions_.push_back({nullptr, kNone, stack_.back().serial, memory_version_});
  return id;
}

std::optional<ValueId> ProgramBuilder::find_known(size_t hash, const Op& op, const ValueType& type) const {
  for (auto scope = stack_.rbegin(); scope != stack_.rend(); ++scope) {
    const auto found = scope->known.find(hash);
    if (found == scope->known.end()) continue;
    for (const ValueId id : found->second) {
      if (op.kind == OpKind::Load && definitions_[id].version != memory_version_) continue;
      if (same_op(*definition(id), program_.values[id], op, type)) return id;
    }
  }
  return std::nullopt;
}

ValueId ProgramBuilder::append(Op op, ValueType type) {
  const bool pure = is_pure(op.kind);
  size_t hash = 0;
  if (pure) {
    hash = hash_op(op, type);
    if (const auto known = find_known(hash, op, type)) return *known;
  }
  const ValueId id = new_value(std::move(type));
  op.results = {id};
  op.site = site_;
  definitions_[id].region = &region();
  definitions_[id].index = static_cast<uint32_t>(region().ops.size());
  region().ops.push_back(std::move(op));
  if (pure) stack_.back().known[hash].push_back(id);
  return id;
}

void ProgramBuilder::append(Op op) {
  op.site = site_;
  region().ops.push_back(std::move(op));
}

int ProgramBuilder::add_site(Site site) {
  program_.sites.push_back(std::move(site));
  return static_cast<int>(program_.sites.size()) - 1;
}

void ProgramBuilder::symbol_source(SymbolSource source) {
  for (const SymbolSource& known : program_.sources)
    if (known.symbol == source.symbol) return;
  program_.sources.push_back(source);
}

void ProgramBuilder::add_source(const Expr& expr, uint8_t source, int argument, int axis) {
  for (const SymbolId id : expr.symbols()) {
    const auto parts = expr.split(id);
    if (!parts || !parts->first.constant() || !parts->second.constant()) continue;
    symbol_source({id, source, argument, axis, *parts->first.constant(), *parts->second.constant()});
  }
}

ValueId ProgramBuilder::array_argument(std::string name, DType dtype, std::vector<Expr> shape,
                                       std::vector<Expr> strides, Layout layout, int inner_axis, bool hidden) {
  const int index = static_cast<int>(program_.arguments.size());
  for (size_t i = 0; i < shape.size(); ++i) add_source(shape[i], FR_SYMBOL_EXTENT, index, static_cast<int>(i));
  for (size_t i = 0; i < strides.size(); ++i) add_source(strides[i], FR_SYMBOL_STRIDE, index, static_cast<int>(i));
  if (layout == Layout::F && strides.empty()) {
    Expr stride = 1;
    for (const Expr& extent : shape) {
      strides.push_back(stride);
      stride = stride * extent;
    }
  }
  const BufferId buffer = new_buffer({.name = name,
                                      .dtype = dtype,
                                      .shape = std::move(shape),
                                      .strides = std::move(strides),
                                      .storage = Storage::Argument,
                                      .argument = index});
  const ValueId value = whole_view(buffer);
  program_.arguments.push_back({.name = std::move(name),
                                .kind = ArgumentKind::Array,
                                .dtype = dtype,
                                .buffer = buffer,
                                .value = value,
                                .layout = layout,
                                .inner_axis = inner_axis,
                                .hidden = hidden});
  return value;
}

ValueId ProgramBuilder::scalar_argument(std::string name, DType dtype, bool weak) {
  require_computable(dtype, "take scalars of");
  const int index = static_cast<int>(program_.arguments.size());
  SymbolId symbol = kNone;
  if (weak && is_integer(dtype)) {
    symbol = program_.symbols.add(name, SymbolKind::Scalar, false);
    symbol_source({symbol, FR_SYMBOL_SCALAR, index});
  }
  const ValueId value = new_value(scalar_type(dtype, weak));
  program_.arguments.push_back({.name = std::move(name),
                                .kind = ArgumentKind::Scalar,
                                .dtype = dtype,
                                .value = value,
                                .symbol = symbol,
                                .weak = weak});
  return value;
}

void ProgramBuilder::static_argument(std::string name, std::string repr) {
  program_.arguments.push_back({.name = std::move(name), .kind = ArgumentKind::Static, .static_text = std::move(repr)});
}

ValueId ProgramBuilder::constant(DType dtype, uint64_t bits, bool weak) {
  require_computable(dtype, "compute with");
  Op op{.kind = OpKind::Constant, .dtype = dtype, .bits = bits};
  return append(std::move(op), scalar_type(dtype, weak));
}

ValueId ProgramBuilder::size(const Expr& expr) {
  const Expr known = facts_.canonical(expr);
  if (const auto value = known.constant()) return constant(DType::I64, static_cast<uint64_t>(*value), true);
  Op op{.kind = OpKind::Size};
  op.expr = known;
  return append(std::move(op), scalar_type(DType::I64, true));
}

SymbolId ProgramBuilder::symbolize(ValueId scalar, std::string name, bool nonnegative) {
  const ValueType& type = use(scalar);
  if (type.kind != ValueKind::Scalar || !(is_integer(type.dtype) || type.dtype == DType::Bool))
    throw user_error(fmt::format("'{}' must be an integer scalar to be used as an index or a size, got {}.", name,
                                 name_of(type.dtype)),
                     Builtin::Type);
  for (const Argument& argument : program_.arguments)
    if (argument.value == scalar && argument.symbol != kNone) return argument.symbol;
  for (const auto& [serial, symbol] : opaque_[scalar])
    if (live_regions_[serial]) return symbol;
  const ValueId operand = type.dtype == DType::I64 ? scalar : cast(scalar, DType::I64);
  const SymbolId symbol = program_.symbols.add(std::move(name), SymbolKind::Opaque, nonnegative);
  Op op{.kind = OpKind::Symbolize, .operands = {operand}};
  op.symbol = symbol;
  append(std::move(op));
  opaque_[scalar].push_back({stack_.back().serial, symbol});
  return symbol;
}

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

void ProgramBuilder::check(ValueId condition, int code) {
  const ValueType& type = use(condition);
  if (type.kind != ValueKind::Scalar || type.dtype != DType::Bool)
    throw internal_error("The condition of a check must be a bool scalar.");
  const Op* made_by = definition(condition);
  if (made_by != nullptr && made_by->kind == OpKind::Constant && made_by->bits != 0) return;
  Op op{.kind = OpKind::Check, .operands = {condition}};
  op.code = code;
  append(std::move(op));
}

void ProgramBuilder::check(const Condition& condition, int code) {
  if (facts_.prove(condition) == true) return;
  Op op{.kind = OpKind::Check};
  op.condition = condition;
  op.code = code;
  append(std::move(op));
}

void ProgramBuilder::guard(Guard guard) {
  for (const Guard& known : program_.guards)
    if (known.condition == guard.condition) return;
  if (facts_.prove(guard.condition) != true) facts_.assume(guard.condition);
  program_.guards.push_back(std::move(guard));
}

void ProgramBuilder::set_options(bool bounds_check, bool arguments_may_alias) {
  program_.bounds_check = bounds_check;
  program_.arguments_may_alias = arguments_may_alias;
}

}  // namespace ferrule
