// Regions and the operations that hold them: loops, branches, values that they carry.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "program/builder.h"

namespace ferrule {

ValueId ProgramBuilder::carried_view(const ValueType& type, std::vector<Expr> strides, const char* name) {
  if (strides.size() != type.shape.size())
    throw internal_error(
        fmt::format("A carried view of {} axes was given {} strides.", type.shape.size(), strides.size()));
  return whole_view(new_buffer({.name = name,
                                .dtype = type.dtype,
                                .shape = type.shape,
                                .strides = std::move(strides),
                                .storage = Storage::Carried}));
}

std::vector<ValueId> ProgramBuilder::open_region(std::span<const Parameter> params) {
  open_.push_back(std::make_unique<Region>());
  live_regions_.push_back(true);
  stack_.push_back({open_.back().get(), static_cast<uint32_t>(live_regions_.size()) - 1, {}});
  ++memory_version_;
  std::vector<ValueId> values;
  for (const Parameter& param : params) {
    // Extents and strides that change from one iteration to the next have their values in the region.
    for (const auto* sizes : {&param.type.shape, &param.strides})
      for (const Expr& size : *sizes)
        if (const auto symbol = carried_symbol(size)) set_home(*symbol, stack_.back().serial);
    if (param.type.kind == ValueKind::View)
      values.push_back(carried_view(param.type, param.strides, "carried"));
    else
      values.push_back(new_value(param.type));
  }
  region().params = values;
  return values;
}

Region ProgramBuilder::close_region(std::vector<ValueId> yields) {
  if (open_.empty()) throw internal_error("No region is open.");
  for (const ValueId id : yields) use(id);
  Region closed = std::move(*open_.back());
  closed.yields = std::move(yields);
  live_regions_[stack_.back().serial] = false;
  stack_.pop_back();
  open_.pop_back();
  ++memory_version_;
  return closed;
}

std::optional<SymbolId> ProgramBuilder::carried_symbol(const Expr& expr) const {
  const auto symbol = expr.as_symbol();
  if (!symbol || program_.symbols[*symbol].kind != SymbolKind::Opaque || has_value(expr)) return std::nullopt;
  return symbol;
}

void ProgramBuilder::check_carried(std::span<const ValueId> values, std::span<const ValueId> params,
                                   const char* what) const {
  if (values.size() != params.size())
    throw internal_error(fmt::format("A region with {} parameters got {} {}s.", params.size(), values.size(), what));
  std::map<SymbolId, Expr> carried;
  const auto agree = [&](const Expr& given, const Expr& expected) {
    const auto symbol = carried_symbol(expected);
    if (!symbol) return facts_.prove_equal(given, expected);
    const Expr& first = carried.try_emplace(*symbol, given).first->second;
    return first == given || facts_.prove_equal(first, given);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueType& given = program_.values[values[i]];
    const ValueType& expected = program_.values[params[i]];
    if (given.kind != expected.kind || given.dtype != expected.dtype || given.weak != expected.weak)
      throw internal_error(fmt::format(
          "The {} {} of a region has another kind or dtype ({}{}) than its parameter ({}{}).", what, i,
          given.weak ? "weak " : "", name_of(given.dtype), expected.weak ? "weak " : "", name_of(expected.dtype)));
    if (given.shape.size() != expected.shape.size())
      throw internal_error(fmt::format("The {} {} of a region has rank {}, its parameter rank {}.", what, i,
                                       given.shape.size(), expected.shape.size()));
    for (size_t axis = 0; axis < given.shape.size(); ++axis) {
      if (!agree(given.shape[axis], expected.shape[axis]))
        throw internal_error(fmt::format("The {} {} of a region has shape {}, its parameter {}.", what, i,
                                         shape_text(given.shape), shape_text(expected.shape)));
    }
    if (expected.kind != ValueKind::View) continue;
    const std::vector<Expr> strides = linear_strides(given), expected_strides = linear_strides(expected);
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      if (!agree(strides[axis], expected_strides[axis]) && !expected.shape[axis].is_constant(1))
        throw internal_error(fmt::format("The {} {} of a region has strides {}, its parameter {}.", what, i,
                                         shape_text(strides), shape_text(expected_strides)));
    }
  }
}

std::vector<ValueId> ProgramBuilder::carried_results(std::span<const ValueId> params, std::span<const ValueId> initial,
                                                     std::span<const ValueId> yields) {
  std::vector<ValueId> results;
  const auto keep = [&](const std::vector<Expr>& sizes) {
    for (const Expr& size : sizes)
      if (const auto symbol = carried_symbol(size)) set_home(*symbol, stack_.back().serial);
  };
  for (size_t i = 0; i < params.size(); ++i) {
    const ValueType type = program_.values[params[i]];
    keep(type.shape);
    if (type.kind == ValueKind::View) keep(program_.buffers[type.buffer].strides);
    if (type.kind != ValueKind::View) {
      results.push_back(new_value(type));
      continue;
    }
    const std::vector<BufferId> may_be = {program_.values[initial[i]].buffer, program_.values[yields[i]].buffer};
    program_.buffers[type.buffer].may_be = may_be;
    const ValueId result = carried_view(type, program_.buffers[type.buffer].strides, "after");
    program_.buffers[program_.values[result].buffer].may_be = may_be;
    results.push_back(result);
  }
  return results;
}

std::vector<ValueId> ProgramBuilder::append_control(Op op, std::vector<ValueId> results) {
  op.results = results;
  append(std::move(op));
  ++memory_version_;
  return results;
}

std::vector<ValueId> ProgramBuilder::for_loop(SymbolId variable, const Expr& lo, const Expr& hi, const Expr& step,
                                              std::vector<ValueId> initial, Region body) {
  if (step.is_constant(0)) throw user_error("The step of a loop must not be zero.");
  for (const ValueId id : initial) use(id);
  check_carried(initial, body.params, "initial value");
  check_carried(body.yields, body.params, "yield");
  std::vector<ValueId> results = carried_results(body.params, initial, body.yields);
  Op op{.kind = OpKind::For, .operands = std::move(initial)};
  op.symbol = variable;
  op.lo = facts_.canonical(lo);
  op.hi = facts_.canonical(hi);
  op.step = facts_.canonical(step);
  op.regions.push_back(std::move(body));
  return append_control(std::move(op), std::move(results));
}

std::vector<ValueId> ProgramBuilder::while_loop(std::vector<ValueId> initial, Region test, Region body) {
  for (const ValueId id : initial) use(id);
  if (test.yields.size() != 1 || program_.values[test.yields[0]].kind != ValueKind::Scalar ||
      program_.values[test.yields[0]].dtype != DType::Bool)
    throw internal_error("The test of a while loop must yield one bool scalar.");
  check_carried(initial, test.params, "initial value");
  check_carried(initial, body.params, "initial value");
  check_carried(body.yields, body.params, "yield");
  std::vector<ValueId> results = carried_results(body.params, initial, body.yields);
  for (size_t i = 0; i < test.params.size(); ++i) {
    if (program_.values[test.params[i]].kind != ValueKind::View) continue;
    program_.buffers[program_.values[test.params[i]].buffer].may_be =
        program_.buffers[program_.values[body.params[i]].buffer].may_be;
  }
  Op op{.kind = OpKind::While, .operands = std::move(initial)};
  op.regions.push_back(std::move(test));
  op.regions.push_back(std::move(body));
  return append_control(std::move(op), std::move(results));
}

std::vector<ValueId> ProgramBuilder::joined_results(const Region& then_region, const Region& else_region) {
  if (then_region.yields.size() != else_region.yields.size())
    throw internal_error(fmt::format("The branches of an if yield {} and {} values.", then_region.yields.size(),
                                     else_region.yields.size()));
  std::vector<ValueId> results;
  // Sizes that differ, or that only a branch knows, are carried as symbols of their own, one for each pair of sizes.
  std::vector<std::pair<std::pair<Expr, Expr>, Expr>> fresh;
  // What is known of sizes that the run decides may come from how a loop ended, which the program does not say.
  const auto known_at_entry = [&](const Expr& size) {
    return std::ranges::all_of(size.symbols(), [&](SymbolId symbol) {
      const SymbolKind kind = program_.symbols[symbol].kind;
      return kind != SymbolKind::Opaque && kind != SymbolKind::Loop;
    });
  };
  const auto join = [&](const Expr& left, const Expr& right, bool extent) {
    const bool equal =
        left == right || (known_at_entry(left) && known_at_entry(right) && facts_.prove_equal(left, right));
    if (equal && has_value(left)) return left;
    if (equal && has_value(right)) return right;
    const std::pair<Expr, Expr> sides{left, right};
    for (const auto& [pair, symbol] : fresh)
      if (pair == sides) return symbol;
    const SymbolId symbol = program_.symbols.add(extent ? "n" : "stride", SymbolKind::Opaque, extent);
    set_home(symbol, stack_.back().serial);
    fresh.push_back({sides, Expr::symbol(symbol)});
    return Expr::symbol(symbol);
  };
  for (size_t i = 0; i < then_region.yields.size(); ++i) {
    const ValueType a = program_.values[then_region.yields[i]];
    const ValueType b = program_.values[else_region.yields[i]];
    if (a.kind != b.kind || a.dtype != b.dtype || a.weak != b.weak)
      throw internal_error(fmt::format("The branches of an if yield different kinds or dtypes ({} and {}) as value {}.",
                                       name_of(a.dtype), name_of(b.dtype), i));
    if (a.shape.size() != b.shape.size())
      throw internal_error(
          fmt::format("The branches of an if yield ranks {} and {} as value {}.", a.shape.size(), b.shape.size(), i));
    ValueType type = a;
    for (size_t axis = 0; axis < a.shape.size(); ++axis) type.shape[axis] = join(a.shape[axis], b.shape[axis], true);
    if (a.kind != ValueKind::View) {
      results.push_back(new_value(std::move(type)));
      continue;
    }
    std::vector<Expr> strides = linear_strides(a);
    const std::vector<Expr> other = linear_strides(b);
    for (size_t axis = 0; axis < strides.size(); ++axis) strides[axis] = join(strides[axis], other[axis], false);
    const ValueId result = carried_view(type, std::move(strides), "joined");
    program_.buffers[program_.values[result].buffer].may_be = {a.buffer, b.buffer};
    results.push_back(result);
  }
  return results;
}

std::vector<ValueId> ProgramBuilder::if_else(ValueId condition, Region then_region, Region else_region) {
  const ValueType& type = use(condition);
  if (type.kind != ValueKind::Scalar || type.dtype != DType::Bool)
    throw internal_error("The condition of an if must be a bool scalar.");
  std::vector<ValueId> results = joined_results(then_region, else_region);
  Op op{.kind = OpKind::If, .operands = {condition}};
  op.regions.push_back(std::move(then_region));
  op.regions.push_back(std::move(else_region));
  return append_control(std::move(op), std::move(results));
}

std::vector<ValueId> ProgramBuilder::if_else(const Condition& condition, Region then_region, Region else_region) {
  std::vector<ValueId> results = joined_results(then_region, else_region);
  Op op{.kind = OpKind::If};
  op.condition = condition;
  op.regions.push_back(std::move(then_region));
  op.regions.push_back(std::move(else_region));
  return append_control(std::move(op), std::move(results));
}

}  // namespace ferrule
