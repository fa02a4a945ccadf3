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
    if (type.kind == ValueKind::Array) {
      for (const Expr& extent : type.shape) {
        const std::optional<SymbolId> symbol = extent.as_symbol();
        if (symbol && out_.symbols[*symbol].kind == SymbolKind::Opaque && !symbolized_[*symbol]) {
          throw unsupported("Ferrule does not carry an array whose shape changes from one iteration of a loop to the next yet.");
        }
      }
    }
    const BufferId buffer = memory_for(op.results[i], type);
    for (const Region& region : op.regions) {
      if (i < region.params.size()) memory_[region.params[i]] = buffer;
    }
  }
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

void Lowering::assign(const std::vector<BufferId>& targets, const std::vector<std::vector<ValueId>>& pointers,
                      const std::vector<ValueId>& sources) {
  // What is overwritten below and still to be read moves aside first.
  std::map<BufferId, BufferId> aside;
  for (size_t i = 0; i < sources.size(); ++i) {
    const BufferId from = targets[i] == kNone ? kNone : memory_[sources[i]];
    if (from == kNone || from == targets[i] || aside.count(from)) continue;
    if (std::find(targets.begin(), targets.end(), from) == targets.end()) continue;
    const loops::Buffer& buffer = out_.buffers[from];
    const BufferId copy_of = new_buffer(buffer.name, buffer.dtype, buffer.shape);
    make_if_opaque(copy_of);
    copy_memory(from, copy_of);
    aside[from] = copy_of;
  }
  loops::BindAll binds;
  std::map<SymbolId, Expr> moved;  // extents and strides that follow the pointers
  for (size_t i = 0; i < sources.size(); ++i) {
    for (ValueId pointer : pointers[i]) {
      const BufferId carried = program_.type(pointer).buffer;
      const ValueType& source = program_.type(sources[i]);
      const loops::Access first = view_access(source, std::vector<Expr>(source.shape.size(), Expr(0)));
      binds.binds.push_back({.pointer = carried, .target = first});
      const auto follow = [&](const Expr& expected, const Expr& actual) {
        const std::optional<SymbolId> symbol = expected.as_symbol();
        if (!symbol || expected == actual) return;
        if (out_.symbols[*symbol].kind == SymbolKind::Opaque && !symbolized_[*symbol]) moved.insert({*symbol, actual});
      };
      for (size_t axis = 0; axis < source.shape.size(); ++axis) {
        follow(out_.buffers[carried].shape[axis], canonical(source.shape[axis]));
        Expr stride = 0;
        for (size_t of = 0; of < source.map.axes.size(); ++of) {
          for (const AxisTerm& term : source.map.axes[of].terms) {
            if (term.axis == int(axis)) stride = stride + canonical(term.step) * out_.buffers[source.buffer].strides[of];
          }
        }
        follow(out_.buffers[carried].strides[axis], stride);
      }
    }
  }
  std::vector<loops::Define> defines;
  for (const auto& [symbol, value] : moved) {
    const loops::Aliases aliases(out_);
    const BufferId buffer = new_buffer("s", DType::I64, {});
    NestBuilder body(&aliases);
    const int result = body.index(value);
    body.store({.buffer = buffer}, result);
    finish_nest({}, body, -1);
    defines.push_back({.symbol = symbol, .value = {.buffer = buffer}});
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    if (targets[i] == kNone || memory_[sources[i]] == targets[i]) continue;
    const auto moved_aside = aside.find(memory_[sources[i]]);
    if (moved_aside != aside.end()) copy_memory(moved_aside->second, targets[i]);
    else copy(sources[i], targets[i]);
  }
  if (!binds.binds.empty()) append({std::move(binds)});
  for (const loops::Define& define : defines) append({define});
}

void Lowering::lower_for(const Op& op) {
  place_carried(op);
  const std::vector<BufferId> targets = carried_memory(op.results);
  const std::vector<std::vector<ValueId>> pointers = loop_pointers(op);
  assign(targets, pointers, op.operands);
  loops::For loop{.variable = op.symbol, .lo = canonical(op.lo), .hi = canonical(op.hi), .step = canonical(op.step)};
  lower_region(op.regions[0], loop.body);
  Block* const outer = block_;
  block_ = &loop.body;
  assign(targets, pointers, op.regions[0].yields);
  block_ = outer;
  append({std::move(loop)});
}

void Lowering::lower_while(const Op& op) {
  place_carried(op);
  const std::vector<BufferId> targets = carried_memory(op.results);
  const std::vector<std::vector<ValueId>> pointers = loop_pointers(op);
  assign(targets, pointers, op.operands);
  loops::While loop;
  lower_region(op.regions[0], loop.test);
  Block* const outer = block_;
  block_ = &loop.test;
  loop.condition = scalar_access(op.regions[0].yields[0]);
  block_ = outer;
  lower_region(op.regions[1], loop.body);
  block_ = &loop.body;
  assign(targets, pointers, op.regions[1].yields);
  block_ = outer;
  append({std::move(loop)});
}

void Lowering::lower_if(const Op& op) {
  loops::If branch{.condition = op.condition};
  if (!op.condition) branch.flag = scalar_access(op.operands[0]);
  for (ValueId result : op.results) {
    if (program_.type(result).kind != ValueKind::View) memory_for(result, program_.type(result));
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
    assign(targets, pointers, op.regions[side].yields);
    block_ = outer;
  }
  append({std::move(branch)});
}

}  // namespace ferrule::lowering
