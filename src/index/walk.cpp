// Questions about an expression and its rebuilding: symbols, split, substitute, evaluate.
#include <algorithm>

#include "index/checked.h"
#include "index/node.h"

namespace ferrule {
namespace {

void collect_symbols(const Expr& expr, std::vector<SymbolId>* out) {
  for (const Term& term : expr.node().terms) {
    for (const Factor& factor : term.monomial->factors) {
      if (factor.atom.kind == AtomKind::Symbol) {
        out->push_back(factor.atom.symbol);
      } else {
        for (const Expr& operand : *factor.atom.operands) collect_symbols(operand, out);
      }
    }
  }
}

using Value = std::function<std::optional<Expr>(SymbolId)>;

// `mask` has the bits of all symbols that may be replaced. nullopt: unchanged.
std::optional<Expr> replace(const Expr& expr, uint64_t mask, const Value& value);

Expr rebuild(AtomKind kind, const std::vector<Expr>& operands) {
  Expr result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    switch (kind) {
      case AtomKind::Symbol:
        break;
      case AtomKind::FloorDiv:
        result = floordiv(result, operands[i]);
        break;
      case AtomKind::Mod:
        result = mod(result, operands[i]);
        break;
      case AtomKind::Min:
        result = min(result, operands[i]);
        break;
      case AtomKind::Max:
        result = max(result, operands[i]);
        break;
      case AtomKind::Pow:
        result = pow(result, operands[i]);
        break;
    }
  }
  return result;
}

std::optional<Expr> replace(const Atom& atom, uint64_t mask, const Value& value) {
  if (atom.kind == AtomKind::Symbol) return symbol_bit(atom.symbol) & mask ? value(atom.symbol) : std::nullopt;
  bool changed = false;
  std::vector<Expr> operands = *atom.operands;
  for (Expr& operand : operands) {
    if (auto replaced = replace(operand, mask, value)) {
      operand = *replaced;
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return rebuild(atom.kind, operands);
}

std::optional<Expr> replace(const MonomialPtr& monomial, uint64_t mask, const Value& value) {
  if (!(monomial->mask & mask)) return std::nullopt;
  bool changed = false;
  Expr result(1);
  for (const Factor& factor : monomial->factors) {
    if (auto replaced = replace(factor.atom, mask, value)) {
      changed = true;
      result = result * pow(*replaced, Expr(factor.exponent));
    } else {
      result = result * make_term(1, make_monomial({factor}));
    }
  }
  if (!changed) return std::nullopt;
  return result;
}

std::optional<Expr> replace(const Expr& expr, uint64_t mask, const Value& value) {
  if (!(expr.node().mask & mask)) return std::nullopt;
  bool changed = false;
  Sum sum(expr.node().constant);
  for (const Term& term : expr.node().terms) {
    if (auto replaced = replace(term.monomial, mask, value)) {
      sum.add(*replaced, term.coefficient);
      changed = true;
    } else {
      sum.add(term.coefficient, term.monomial);
    }
  }
  if (!changed) return std::nullopt;
  return sum.build();
}

int64_t value_of(const Atom& atom, std::span<const int64_t> values) {
  if (atom.kind == AtomKind::Symbol) {
    if (atom.symbol >= values.size()) {
      throw internal_error("An expression was evaluated without a value for one of its symbols.");
    }
    return values[atom.symbol];
  }
  int64_t result = atom.operand(0).evaluate(values);
  for (size_t i = 1; i < atom.operands->size(); ++i) {
    int64_t right = atom.operand(i).evaluate(values);
    switch (atom.kind) {
      case AtomKind::Symbol:
        break;
      case AtomKind::FloorDiv:
        result = checked::floordiv(result, right);
        break;
      case AtomKind::Mod:
        result = checked::mod(result, right);
        break;
      case AtomKind::Min:
        result = std::min(result, right);
        break;
      case AtomKind::Max:
        result = std::max(result, right);
        break;
      case AtomKind::Pow:
        result = checked::power(result, right);
        break;
    }
  }
  return result;
}

}  // namespace

bool uses(const Atom& atom, SymbolId id) {
  if (atom.kind == AtomKind::Symbol) return atom.symbol == id;
  return std::any_of(atom.operands->begin(), atom.operands->end(), [&](const Expr& e) { return e.uses(id); });
}

std::vector<SymbolId> Expr::symbols() const {
  std::vector<SymbolId> result;
  collect_symbols(*this, &result);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

bool Expr::uses(SymbolId id) const {
  if (!(node_->mask & symbol_bit(id))) return false;
  for (const Term& term : node_->terms) {
    if (!(term.monomial->mask & symbol_bit(id))) continue;
    for (const Factor& factor : term.monomial->factors) {
      if (ferrule::uses(factor.atom, id)) return true;
    }
  }
  return false;
}

std::optional<std::pair<Expr, Expr>> Expr::split(SymbolId id) const {
  if (!uses(id)) return std::pair(Expr(0), *this);
  Sum coefficient, rest(node_->constant);
  for (const Term& term : node_->terms) {
    const auto& factors = term.monomial->factors;
    size_t found = factors.size();
    for (size_t i = 0; i < factors.size(); ++i) {
      if (!ferrule::uses(factors[i].atom, id)) continue;
      bool linear = factors[i].atom.kind == AtomKind::Symbol && factors[i].exponent == 1 && found == factors.size();
      if (!linear) return std::nullopt;
      found = i;
    }
    if (found == factors.size()) {
      rest.add(term.coefficient, term.monomial);
    } else {
      coefficient.add(term.coefficient, without(*term.monomial, found));
    }
  }
  return std::pair(coefficient.build(), rest.build());
}

Expr Expr::substitute(SymbolId id, const Expr& value) const {
  auto replaced = replace(*this, symbol_bit(id),
                          [&](SymbolId symbol) { return symbol == id ? std::optional<Expr>(value) : std::nullopt; });
  return replaced ? *replaced : *this;
}

Expr Expr::substitute(const std::function<std::optional<Expr>(SymbolId)>& value) const {
  auto replaced = replace(*this, ~uint64_t{0}, value);
  return replaced ? *replaced : *this;
}

int64_t Expr::evaluate(std::span<const int64_t> values) const {
  int64_t total = node_->constant;
  for (const Term& term : node_->terms) {
    int64_t value = term.coefficient;
    for (const Factor& factor : term.monomial->factors) {
      int64_t atom = value_of(factor.atom, values);
      value = checked::multiply(value, factor.exponent == 1 ? atom : checked::power(atom, factor.exponent));
    }
    total = checked::add(total, value);
  }
  return total;
}

}  // namespace ferrule
