#include <algorithm>
#include <map>

#include "program/normalize.h"
#include "program/verifier.h"

namespace ferrule {

void Verifier::test(const Op& op) const {
  if (op.condition) return;
  require(operand(0).kind == ValueKind::Scalar && operand(0).dtype == DType::Bool, "a condition is a bool scalar");
}

std::optional<SymbolId> Verifier::carried_symbol(const Expr& e) const {
  const auto symbol = e.as_symbol();
  if (!symbol || *symbol >= p_.symbols.size() || p_.symbols[*symbol].kind != SymbolKind::Opaque) return std::nullopt;
  if (local_symbols_.contains(*symbol) || symbol_in_scope_[*symbol]) return std::nullopt;
  return symbol;
}

void Verifier::carried(const std::vector<ValueId>& given, const std::vector<ValueId>& expected) const {
  require(given.size() == expected.size(), "there is one value for each parameter or result");
  std::map<SymbolId, Expr> sizes;
  const auto agree = [&](const Expr& size, const Expr& as) {
    const auto symbol = carried_symbol(as);
    return equal(size, symbol ? sizes.try_emplace(*symbol, size).first->second : as);
  };
  for (size_t i = 0; i < given.size(); ++i) {
    require(given[i] < p_.values.size() && expected[i] < p_.values.size(), "a value lies in the program's table");
    const ValueType& a = p_.values[given[i]];
    const ValueType& b = p_.values[expected[i]];
    require(a.kind == b.kind && a.dtype == b.dtype && a.weak == b.weak && a.shape.size() == b.shape.size(),
            "a carried value keeps its kind, dtype and rank");
    for (size_t axis = 0; axis < a.shape.size(); ++axis)
      require(agree(a.shape[axis], b.shape[axis]), "a carried value keeps its shape");
    if (a.kind != ValueKind::View) continue;
    require(p_.buffers[b.buffer].storage == Storage::Carried, "a carried view has a carried buffer");
    const auto& may_be = p_.buffers[b.buffer].may_be;
    for (const BufferId root : roots_of(p_, a.buffer))
      require(std::binary_search(may_be.begin(), may_be.end(), root),
              "a carried buffer lists every buffer that it may stand for");
  }
}

void Verifier::for_loop(const Op& op) {
  require(op.regions.size() == 1, "a for loop has one region");
  const Region& body = op.regions[0];
  require(!op.step.is_constant(0), "the step of a loop is not zero");
  carried(op.operands, body.params);
  facts_.push();
  symbol_in_scope_[op.symbol] = true;
  const auto step = op.step.constant();
  if (step && *step < 0)
    facts_.assume_loop(op.symbol, op.hi + 1, op.lo + 1);
  else
    facts_.assume_loop(op.symbol, op.lo, op.hi);
  region(body);
  current_ = &op;
  carried(body.yields, body.params);
  symbol_in_scope_[op.symbol] = false;
  facts_.pop();
  carried(body.params, op.results);
}

void Verifier::while_loop(const Op& op) {
  require(op.regions.size() == 2, "a while loop has two regions");
  carried(op.operands, op.regions[0].params);
  carried(op.operands, op.regions[1].params);
  facts_.push();
  region(op.regions[0]);
  current_ = &op;
  const std::vector<ValueId>& test = op.regions[0].yields;
  require(test.size() == 1 && p_.values[test[0]].kind == ValueKind::Scalar && p_.values[test[0]].dtype == DType::Bool,
          "the test of a while loop yields a bool scalar");
  facts_.pop();
  facts_.push();
  region(op.regions[1]);
  current_ = &op;
  carried(op.regions[1].yields, op.regions[1].params);
  facts_.pop();
  carried(op.regions[1].params, op.results);
}

void Verifier::if_else(const Op& op) {
  require(op.regions.size() == 2, "an if has two regions");
  require(op.operands.size() == (op.condition ? 0u : 1u), "an if has one condition");
  test(op);
  for (int side = 0; side < 2; ++side) {
    const Region& branch = op.regions[side];
    require(branch.params.empty(), "a branch has no parameters");
    facts_.push();
    if (op.condition) facts_.assume(side == 0 ? *op.condition : negate(*op.condition));
    region(branch);
    current_ = &op;
    carried(branch.yields, op.results);
    facts_.pop();
  }
}

}  // namespace ferrule
