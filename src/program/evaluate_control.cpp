#include <fmt/format.h>

#include "base/error.h"
#include "program/evaluator.h"

namespace ferrule::evaluation {

bool Evaluator::holds(const Op& op) {
  return op.condition ? ferrule::evaluate(*op.condition, symbols_) : scalar(op.operands[0]) != 0;
}

void Evaluator::carry_size(const Expr& expected, int64_t actual, bool matters) {
  const auto symbol = expected.as_symbol();
  if (symbol && p_.symbols[*symbol].kind == SymbolKind::Opaque && !local_symbols_.contains(*symbol)) {
    symbols_[*symbol] = actual;
  } else if (matters && number(expected) != actual) {
    throw internal_error(
        fmt::format("A carried value has a size or stride of {}, its type {}.", actual, number(expected)));
  }
}

void Evaluator::carry(const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
  std::vector<EvalValue> given;
  for (const ValueId id : from) given.push_back(values_[id]);
  for (size_t i = 0; i < to.size(); ++i) {
    const ValueType& type = p_.values[to[i]];
    const Indices& shape = type.kind == ValueKind::View ? given[i].window.shape : given[i].shape;
    for (size_t axis = 0; axis < type.shape.size(); ++axis) carry_size(type.shape[axis], shape[axis], true);
    if (type.kind == ValueKind::View) {
      const Buffer& buffer = p_.buffers[type.buffer];
      for (size_t axis = 0; axis < shape.size(); ++axis)
        carry_size(buffer.strides[axis], given[i].window.strides[axis], count_of(shape) != 0 && shape[axis] > 1);
      buffers_[type.buffer] = given[i].window;
    }
  }
  for (size_t i = 0; i < to.size(); ++i) {
    if (p_.values[to[i]].kind == ValueKind::View)
      set_view(to[i]);
    else
      values_[to[i]] = std::move(given[i]);
  }
}

void Evaluator::for_loop(const Op& op) {
  const Region& body = op.regions[0];
  const int64_t lo = number(op.lo), hi = number(op.hi), step = number(op.step);
  if (step == 0) throw internal_error("The step of a loop is zero.");
  carry(op.operands, body.params);
  for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
    symbols_[op.symbol] = i;
    region(body);
    carry(body.yields, body.params);
  }
  carry(body.params, op.results);
}

void Evaluator::while_loop(const Op& op) {
  const Region& test = op.regions[0];
  const Region& body = op.regions[1];
  carry(op.operands, body.params);
  for (;;) {
    carry(body.params, test.params);
    region(test);
    if (scalar(test.yields[0]) == 0) break;
    region(body);
    carry(body.yields, body.params);
  }
  carry(body.params, op.results);
}

void Evaluator::if_else(const Op& op) {
  const Region& taken = op.regions[holds(op) ? 0 : 1];
  region(taken);
  carry(taken.yields, op.results);
}

}  // namespace ferrule::evaluation
