#include "program/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/builder_types.h"

namespace ferrule {
namespace {

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

bool ProgramBuilder::has_value(const Expr& expr) const {
  for (const SymbolId symbol : expr.symbols()) {
    if (program_.symbols[symbol].kind != SymbolKind::Opaque) continue;
    if (symbol >= symbol_homes_.size() || symbol_homes_[symbol] == kNone || !live_regions_[symbol_homes_[symbol]])
      return false;
  }
  return true;
}

void ProgramBuilder::set_home(SymbolId symbol, uint32_t serial) {
  if (symbol >= symbol_homes_.size()) symbol_homes_.resize(symbol + 1, kNone);
  symbol_homes_[symbol] = serial;
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
  set_home(symbol, stack_.back().serial);
  Op op{.kind = OpKind::Symbolize, .operands = {operand}};
  op.symbol = symbol;
  append(std::move(op));
  opaque_[scalar].push_back({stack_.back().serial, symbol});
  return symbol;
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
