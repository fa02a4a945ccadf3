#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "lower/lowering.h"

namespace ferrule::lowering {

using loops::Block;
using loops::NestBuilder;

void Lowering::place_carried(const Op& op) {
  for (size_t i = 0; i < op.operands.size(); ++i) {
    // The parameter's type names the extents that change from one iteration to the next.
    const ValueType& type = program_.type(op.regions.back().params[i]);
    if (type.kind == ValueKind::View) continue;
    // A return is made once, memory that changes its shape at every iteration.
    const BufferId buffer =
        changes_shape(type.shape) ? memory_without_make(op.results[i], type, false) : memory_for(op.results[i], type);
    for (const Region& region : op.regions) {
      if (i < region.params.size()) memory_[region.params[i]] = buffer;
    }
  }
}

bool Lowering::changes_shape(const std::vector<Expr>& shape) const {
  return std::any_of(shape.begin(), shape.end(),
                     [&](const Expr& extent) { return carried_symbol(canonical(extent)).has_value(); });
}

std::vector<BufferId> Lowering::carried_memory(const std::vector<ValueId>& values) const {
  std::vector<BufferId> result;
  for (ValueId value : values) result.push_back(program_.type(value).kind == ValueKind::View ? kNone : memory_[value]);
  return result;
}

std::vector<std::vector<ValueId>> Lowering::loop_pointers(const Op& op) const {
  std::vector<std::vector<ValueId>> pointers(op.results.size());
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (program_.type(op.results[i]).kind != ValueKind::View) continue;
    for (const Region& region : op.regions) {
      if (i < region.params.size()) pointers[i].push_back(region.params[i]);
    }
    pointers[i].push_back(op.results[i]);
  }
  return pointers;
}

std::optional<SymbolId> Lowering::carried_symbol(const Expr& expr) const {
  const std::optional<SymbolId> symbol = expr.as_symbol();
  if (!symbol || *symbol >= symbolized_.size() || symbolized_[*symbol]) return std::nullopt;
  if (out_.symbols[*symbol].kind != SymbolKind::Opaque) return std::nullopt;
  return symbol;
}

Expr Lowering::view_stride(const ValueType& view, int axis) const {
  Expr stride = 0;
  for (size_t of = 0; of < view.map.axes.size(); ++of) {
    for (const AxisTerm& term : view.map.axes[of].terms) {
      if (term.axis == axis) stride = stride + canonical(term.step) * out_.buffers[view.buffer].strides[of];
    }
  }
  return stride;
}

void Lowering::assign(Assign when, const std::vector<BufferId>& targets,
                      const std::vector<std::vector<ValueId>>& pointers, const std::vector<ValueId>& sources) {
  // Extents and strides that change with what is carried: symbol -> value, computed before anything moves.
  std::map<SymbolId, Expr> moved;
  std::set<SymbolId> in_arrays;
  const auto follow = [&](const Expr& expected, const Expr& actual) {
    const std::optional<SymbolId> symbol = carried_symbol(expected);
    if (symbol && !(expected == actual)) moved.insert({*symbol, actual});
  };
  loops::BindAll binds;
  for (size_t i = 0; i < sources.size(); ++i) {
    const ValueType& source = program_.type(sources[i]);
    for (ValueId pointer : pointers[i]) {
      const BufferId carried = program_.type(pointer).buffer;
      const std::vector<Expr> origin(source.shape.size(), Expr(0));
      binds.binds.push_back({.pointer = carried, .target = view_access(source, origin)});
      for (size_t axis = 0; axis < source.shape.size(); ++axis) {
        follow(out_.buffers[carried].shape[axis], canonical(source.shape[axis]));
        follow(out_.buffers[carried].strides[axis], view_stride(source, int(axis)));
      }
    }
    if (source.kind != ValueKind::Array) continue;
    for (size_t axis = 0; axis < source.shape.size(); ++axis) {
      const Expr& extent = out_.buffers[targets[i]].shape[axis];
      follow(extent, canonical(source.shape[axis]));
      if (const std::optional<SymbolId> symbol = carried_symbol(extent)) in_arrays.insert(*symbol);
    }
  }
  // Each new extent goes to a variable, and to a symbol of its own for arrays that wait while the old extent is in use.
  std::vector<loops::Define> defines;
  std::map<SymbolId, Expr> waiting;
  for (const auto& [symbol, value] : moved) {
    const BufferId buffer = new_buffer("s", DType::I64, {});
    NestBuilder body;
    const int result = body.index(value);
    body.store({.buffer = buffer}, result);
    finish_nest({}, body, -1);
    if (when == Assign::First) {
      append({loops::Define{.symbol = symbol, .value = {.buffer = buffer}}});
      continue;
    }
    if (in_arrays.count(symbol)) {
      const std::string name = out_.symbols[symbol].name + "_next";
      const SymbolId next = out_.symbols.add(name, SymbolKind::Opaque, out_.symbols[symbol].nonnegative);
      append({loops::Define{.symbol = next, .value = {.buffer = buffer}}});
      waiting.insert({symbol, Expr::symbol(next)});
    }
    defines.push_back({.symbol = symbol, .value = {.buffer = buffer}});
  }
  for (size_t i = 0; i < sources.size() && when == Assign::First; ++i) {
    if (targets[i] != kNone && changes_shape(out_.buffers[targets[i]].shape))
      append({loops::Make{.buffer = targets[i]}});
  }
  // What is overwritten below and still to be read moves aside first: by memory, except for arrays that change their
  // shape, whose copies have the new one.
  std::map<BufferId, BufferId> aside;
  std::vector<BufferId> reshaped(sources.size(), kNone);
  for (size_t i = 0; i < sources.size(); ++i) {
    const BufferId from = targets[i] == kNone ? kNone : memory_[sources[i]];
    if (from == kNone || from == targets[i] || when == Assign::First) continue;
    const std::vector<Expr> shape = out_.buffers[targets[i]].shape;
    std::vector<Expr> next_shape;
    for (const Expr& extent : shape) {
      const std::optional<SymbolId> symbol = carried_symbol(extent);
      next_shape.push_back(symbol && waiting.count(*symbol) ? waiting.at(*symbol) : extent);
    }
    const DType dtype = out_.buffers[from].dtype;
    if (next_shape != shape) {
      reshaped[i] = new_buffer(out_.buffers[from].name, dtype, next_shape);
      make_if_opaque(reshaped[i]);
      copy_memory(from, reshaped[i], program_.type(sources[i]).shape);
    } else if (std::find(targets.begin(), targets.end(), from) != targets.end() && !aside.count(from)) {
      aside[from] = new_buffer(out_.buffers[from].name, dtype, out_.buffers[from].shape);
      make_if_opaque(aside[from]);
      copy_memory(from, aside[from], out_.buffers[from].shape);
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (targets[i] == kNone || memory_[sources[i]] == targets[i] || reshaped[i] != kNone) continue;
    const auto moved_aside = aside.find(memory_[sources[i]]);
    if (moved_aside != aside.end())
      copy_memory(moved_aside->second, targets[i], out_.buffers[targets[i]].shape);
    else
      copy(sources[i], targets[i]);
  }
  if (!binds.binds.empty()) append({std::move(binds)});
  for (const loops::Define& define : defines) append({define});
  for (size_t i = 0; i < sources.size(); ++i) {
    if (reshaped[i] == kNone) continue;
    append({loops::Make{.buffer = targets[i]}});
    copy_memory(reshaped[i], targets[i], out_.buffers[targets[i]].shape);
  }
}

void Lowering::lower_for(const Op& op) {
  place_carried(op);
  const std::vector<BufferId> targets = carried_memory(op.results);
  const std::vector<std::vector<ValueId>> pointers = loop_pointers(op);
  assign(Assign::First, targets, pointers, op.operands);
  loops::For loop{.variable = op.symbol, .lo = canonical(op.lo), .hi = canonical(op.hi), .step = canonical(op.step)};
  lower_region(op.regions[0], loop.body);
  Block* const outer = block_;
  block_ = &loop.body;
  assign(Assign::Next, targets, pointers, op.regions[0].yields);
  block_ = outer;
  append({std::move(loop)});
}

void Lowering::lower_while(const Op& op) {
  place_carried(op);
  const std::vector<BufferId> targets = carried_memory(op.results);
  const std::vector<std::vector<ValueId>> pointers = loop_pointers(op);
  assign(Assign::First, targets, pointers, op.operands);
  loops::While loop;
  lower_region(op.regions[0], loop.test);
  Block* const outer = block_;
  block_ = &loop.test;
  loop.condition = scalar_access(op.regions[0].yields[0]);
  block_ = outer;
  lower_region(op.regions[1], loop.body);
  block_ = &loop.body;
  assign(Assign::Next, targets, pointers, op.regions[1].yields);
  block_ = outer;
  append({std::move(loop)});
}

void Lowering::lower_if(const Op& op) {
  loops::If branch{.condition = op.condition};
  if (!op.condition) branch.flag = scalar_access(op.operands[0]);
  for (ValueId result : op.results) {
    const ValueType& type = program_.type(result);
    if (type.kind == ValueKind::View) continue;
    changes_shape(type.shape) ? memory_without_make(result, type, true) : memory_for(result, type);
  }
  const std::vector<BufferId> targets = carried_memory(op.results);
  std::vector<std::vector<ValueId>> pointers(op.results.size());
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (program_.type(op.results[i]).kind == ValueKind::View) pointers[i].push_back(op.results[i]);
  }
  Block* const outer = block_;
  for (size_t side = 0; side < 2; ++side) {
    Block& block = side == 0 ? branch.then_block : branch.else_block;
    lower_region(op.regions[side], block);
    block_ = &block;
    assign(Assign::First, targets, pointers, op.regions[side].yields);
    block_ = outer;
  }
  append({std::move(branch)});
}

}  // namespace ferrule::lowering
