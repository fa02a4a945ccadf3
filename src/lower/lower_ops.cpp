#include <algorithm>

#include "base/error.h"
#include "lower/lowering.h"

namespace ferrule::lowering {

using loops::Access;
using loops::AxisKind;
using loops::Nest;
using loops::NestBuilder;

loops::Stmt& Lowering::append(loops::Stmt stmt) {
  block_->push_back(std::move(stmt));
  return block_->back();
}

Lowering::Domain Lowering::domain(const std::vector<Expr>& shape) {
  Domain result;
  for (const Expr& extent : shape) {
    const Expr known = canonical(extent);
    if (known.is_constant(1)) {
      result.index.push_back(0);
      continue;
    }
    const SymbolId variable = loops::axis_variable(out_.symbols, int(result.axes.size()));
    result.axes.push_back({.variable = variable, .extent = known});
    result.index.push_back(Expr::symbol(variable));
  }
  return result;
}

Access Lowering::view_access(const ValueType& view, const std::vector<Expr>& index) const {
  Access access{.buffer = view.buffer};
  for (const AxisMap& axis : view.map.axes) {
    Expr at = canonical(axis.start);
    for (const AxisTerm& term : axis.terms) at = at + canonical(term.step) * index[term.axis];
    access.index.push_back(at);
  }
  return access;
}

int Lowering::read(NestBuilder& body, ValueId value, const std::vector<Expr>& index) {
  const ValueType& type = program_.type(value);
  if (const Op* op = immediate_[value]) {
    if (op->kind == OpKind::Constant) return body.constant(type.dtype, op->bits);
    return body.cast(body.index(canonical(op->expr)), type.dtype);
  }
  if (type.kind == ValueKind::View) return body.load(view_access(type, index), type.dtype);
  if (memory_[value] == kNone) throw internal_error("A value is read before it is lowered.");
  return body.load({.buffer = memory_[value], .index = type.kind == ValueKind::Scalar ? std::vector<Expr>{} : index},
                   type.dtype);
}

void Lowering::finish_nest(Domain domain, NestBuilder& body, int site) {
  append({Nest{.axes = std::move(domain.axes), .body = body.finish(), .site = site}});
}

Access Lowering::scalar_access(ValueId value) {
  if (memory_[value] == kNone) {
    const ValueType& type = program_.type(value);
    NestBuilder body;
    const int result = read(body, value, {});
    const BufferId buffer = new_buffer("s", type.dtype, {});
    body.store({.buffer = buffer}, result);
    finish_nest({}, body, -1);
    return {.buffer = buffer};
  }
  return {.buffer = memory_[value]};
}

void Lowering::copy(ValueId source, BufferId target) {
  Domain over = domain(out_.buffers[target].shape);
  NestBuilder body;
  const int value = read(body, source, over.index);
  body.store({.buffer = target, .index = over.index}, value);
  finish_nest(std::move(over), body, -1);
}

void Lowering::copy_memory(BufferId source, BufferId target, const std::vector<Expr>& shape) {
  Domain over = domain(shape);
  NestBuilder body;
  const int value = body.load({.buffer = source, .index = over.index}, out_.buffers[source].dtype);
  body.store({.buffer = target, .index = over.index}, value);
  finish_nest(std::move(over), body, -1);
}

void Lowering::lower_elementwise(const Op& op) {
  const ValueType& type = program_.type(op.results[0]);
  const BufferId target = memory_for(op.results[0], type);
  Domain over = domain(type.shape);
  NestBuilder body;
  std::vector<int> operands;
  operands.reserve(op.operands.size());
  for (ValueId operand : op.operands) operands.push_back(read(body, operand, over.index));
  int value = -1;
  switch (op.kind) {
    case OpKind::Elementwise:
      value = body.element(op.element_op, type.dtype, std::move(operands));
      break;
    case OpKind::Reduce:  // over no axis
    case OpKind::Cast:
      value = body.cast(operands[0], type.dtype);
      break;
    case OpKind::Fill:
      value = operands[0];
      break;
    case OpKind::Iota:
      value = body.cast(body.index(over.index[op.axes[0]]), type.dtype);
      break;
    default:
      throw internal_error("Not an element-wise operation.");
  }
  body.store({.buffer = target, .index = over.index}, value);
  finish_nest(std::move(over), body, op.site);
}

void Lowering::lower_remap(const Op& op) {
  const ValueType& type = program_.type(op.results[0]);
  const BufferId target = memory_for(op.results[0], type);
  Domain over = domain(type.shape);
  ValueType window{.kind = ValueKind::View, .dtype = type.dtype, .buffer = memory_[op.operands[0]], .map = op.map};
  NestBuilder body;
  const int value = body.load(view_access(window, over.index), type.dtype);
  body.store({.buffer = target, .index = over.index}, value);
  finish_nest(std::move(over), body, op.site);
}

void Lowering::lower_store(const Op& op) {
  const ValueType& view = program_.type(op.operands[0]);
  Domain over = domain(view.shape);
  NestBuilder body;
  const int value = read(body, op.operands[1], over.index);
  body.store(view_access(view, over.index), body.cast(value, view.dtype));
  finish_nest(std::move(over), body, op.site);
}

void Lowering::lower_load(const Op& op) {
  if (elided_[op.results[0]]) return;
  const ValueType& type = program_.type(op.results[0]);
  const BufferId target = memory_for(op.results[0], type);
  copy(op.operands[0], target);
}

void Lowering::lower_reduce(const Op& op) {
  if (op.axes.empty()) return lower_elementwise(op);
  const ValueType& source = program_.type(op.operands[0]);
  const ValueType& type = program_.type(op.results[0]);
  const BufferId target = memory_for(op.results[0], type);
  Nest nest{.site = op.site};
  std::vector<Expr> index(source.shape.size(), Expr(0)), result;
  for (const bool reduced : {false, true}) {
    for (size_t axis = 0; axis < source.shape.size(); ++axis) {
      const bool is_reduced = std::find(op.axes.begin(), op.axes.end(), int(axis)) != op.axes.end();
      if (is_reduced != reduced) continue;
      const Expr extent = canonical(source.shape[axis]);
      // A reduction keeps one axis at least: a nest with a reduction has a reduction axis.
      const bool needed = reduced && axis == size_t(op.axes.back()) &&
                          (nest.axes.empty() || nest.axes.back().kind != AxisKind::Reduction);
      if (!extent.is_constant(1) || needed) {
        const SymbolId variable = loops::axis_variable(out_.symbols, int(nest.axes.size()));
        nest.axes.push_back(
            {.variable = variable, .extent = extent, .kind = reduced ? AxisKind::Reduction : AxisKind::Parallel});
        index[axis] = Expr::symbol(variable);
      }
      if (!reduced) result.push_back(index[axis]);
    }
  }
  NestBuilder body;
  const int value = body.cast(read(body, op.operands[0], index), type.dtype);
  nest.body = body.finish();
  nest.reductions.push_back(
      {.op = op.reduce_op, .dtype = type.dtype, .value = value, .target = {.buffer = target, .index = result}});
  append({std::move(nest)});
}

void Lowering::lower_op(const Op& op) {
  switch (op.kind) {
    case OpKind::Constant:
    case OpKind::Size:
      immediate_[op.results[0]] = &op;
      break;
    case OpKind::Symbolize:
      append({loops::Define{.symbol = op.symbol, .value = scalar_access(op.operands[0])}});
      break;
    case OpKind::Elementwise:
    case OpKind::Cast:
    case OpKind::Iota:
    case OpKind::Fill:
      lower_elementwise(op);
      break;
    case OpKind::Remap:
      lower_remap(op);
      break;
    case OpKind::View:
      break;
    case OpKind::Load:
      lower_load(op);
      break;
    case OpKind::Store:
      lower_store(op);
      break;
    case OpKind::Alloc:
      append({loops::Make{.buffer = op.buffer, .avoid = facts_.avoid[op.buffer]}});
      break;
    case OpKind::Reduce:
      lower_reduce(op);
      break;
    case OpKind::Check: {
      loops::Check check{.code = op.code, .site = op.site, .values = canonical(values_of_check(op))};
      if (op.condition)
        check.condition = op.condition;
      else
        check.flag = scalar_access(op.operands[0]);
      append({std::move(check)});
      break;
    }
    case OpKind::For:
      lower_for(op);
      break;
    case OpKind::While:
      lower_while(op);
      break;
    case OpKind::If:
      lower_if(op);
      break;
  }
}

void Lowering::lower_region(const Region& region, loops::Block& block) {
  loops::Block* const outer = block_;
  block_ = &block;
  for (const Op& op : region.ops) lower_op(op);
  block_ = outer;
}

}  // namespace ferrule::lowering
