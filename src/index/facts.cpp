#include "index/facts.h"

#include <algorithm>

#include "base/error.h"
#include "index/checked.h"
#include "index/known.h"
#include "index/node.h"
#include "index/prover.h"

namespace ferrule {
namespace {

bool proved(Known* known, const Expr& expr) { return Prover(known).nonnegative(expr); }

// Which symbol of an equation goes: values known only at run time first, then loop variables, then the youngest.
int rank_of(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::Opaque:
      return 2;
    case SymbolKind::Loop:
      return 1;
    case SymbolKind::Extent:
    case SymbolKind::Stride:
    case SymbolKind::Scalar:
      return 0;
  }
  return 0;
}

// What follows from `fact` >= 0 where it says that a remainder is 0: the dividend is the divisor times the quotient.
std::optional<Expr> exact_division(Known* known, const Expr& fact) {
  const ExprNode& node = fact.node();
  if (node.constant != 0 || node.terms.size() != 1) return std::nullopt;
  const auto& factors = node.terms[0].monomial->factors;
  if (factors.size() != 1 || factors[0].exponent != 1 || factors[0].atom.kind != AtomKind::Mod) return std::nullopt;
  const Expr& dividend = factors[0].atom.operand(0);
  const Expr& divisor = factors[0].atom.operand(1);
  // A remainder has the sign of its divisor; by 0 it says nothing.
  if (!proved(known, node.terms[0].coefficient < 0 ? divisor - 1 : -divisor - 1)) return std::nullopt;
  return dividend - divisor * floordiv(dividend, divisor);
}

// The common divisor of the coefficients does not divide the constant: no integers make it 0.
bool never_zero(const Expr& expr) {
  uint64_t common = content(expr - Expr(expr.node().constant));
  return common > 1 && checked::magnitude(expr.node().constant) % common != 0;
}

}  // namespace

Known::Known(const Facts& facts) : symbols(*facts.symbols_) {
  // Later equations use no symbol that an earlier one replaced, so going backwards every value is final.
  for (auto equality = facts.equalities_.rbegin(); equality != facts.equalities_.rend(); ++equality) {
    Expr value = canonical(equality->second);
    if (symbols[equality->first].nonnegative) nonnegative.push_back(value);
    replaced_mask |= symbol_bit(equality->first);
    replaced.insert_or_assign(equality->first, std::move(value));
  }
  for (const Expr& fact : facts.nonnegative_) nonnegative.push_back(canonical(fact));
  for (size_t i = 0; i < facts.loops_.size(); ++i) {
    Loop loop{facts.loops_[i].variable, canonical(facts.loops_[i].lo), canonical(facts.loops_[i].hi)};
    Expr variable = canonical(Expr::symbol(loop.variable));
    // A variable that is replaced, or whose bounds became ones of itself or of an inner one, is bounded by facts only.
    bool eliminable = variable.as_symbol() == loop.variable;
    for (size_t j = i; j < facts.loops_.size(); ++j) {
      eliminable &= !loop.lo.uses(facts.loops_[j].variable) && !loop.hi.uses(facts.loops_[j].variable);
    }
    if (eliminable) {
      loops.push_back(std::move(loop));
    } else {
      only_bounded.push_back(loop.variable);
      nonnegative.push_back(variable - loop.lo);
      nonnegative.push_back(loop.hi - 1 - variable);
      nonnegative.push_back(loop.hi - 1 - loop.lo);
    }
  }
  std::erase_if(nonnegative, [](const Expr& fact) { return fact.constant().has_value(); });
  for (const Condition& condition : facts.other_) {
    Expr difference = canonical(condition.right - condition.left);
    if (difference.constant()) continue;
    nonzero.push_back(difference);
    // Not 0 and not negative is positive.
    if (proved(this, difference)) {
      nonnegative.push_back(difference - 1);
      memo.clear();
    } else if (proved(this, -difference)) {
      nonnegative.push_back(-difference - 1);
      memo.clear();
    }
  }
  const size_t count = nonnegative.size();
  for (size_t i = 0; i < count; ++i) {
    const std::optional<Expr> difference = exact_division(this, nonnegative[i]);
    if (!difference) continue;
    nonnegative.push_back(*difference);
    nonnegative.push_back(-*difference);
    memo.clear();
  }
}

Expr Known::canonical(const Expr& expr) const {
  if (!(expr.node().mask & replaced_mask)) return expr;
  return expr.substitute([&](SymbolId id) -> std::optional<Expr> {
    auto found = replaced.find(id);
    if (found == replaced.end()) return std::nullopt;
    return found->second;
  });
}

Known& Facts::known() const {
  if (!known_) known_ = std::make_shared<Known>(*this);
  return *known_;
}

void Facts::push() { scopes_.push_back({equalities_.size(), nonnegative_.size(), other_.size(), loops_.size()}); }

void Facts::pop() {
  if (scopes_.empty()) throw internal_error("Facts were popped without a matching push.");
  const Scope& scope = scopes_.back();
  equalities_.erase(equalities_.begin() + static_cast<ptrdiff_t>(scope.equalities), equalities_.end());
  nonnegative_.erase(nonnegative_.begin() + static_cast<ptrdiff_t>(scope.inequalities), nonnegative_.end());
  other_.erase(other_.begin() + static_cast<ptrdiff_t>(scope.others), other_.end());
  loops_.erase(loops_.begin() + static_cast<ptrdiff_t>(scope.loops), loops_.end());
  scopes_.pop_back();
  known_.reset();
}

void Facts::assume(const Condition& condition) {
  switch (condition.relation) {
    case Relation::Eq:
      assume_zero(canonical(condition.left - condition.right));
      break;
    case Relation::Ne:
      other_.push_back(condition);
      break;
    case Relation::Lt:
      nonnegative_.push_back(condition.right - condition.left - 1);
      break;
    case Relation::Le:
      nonnegative_.push_back(condition.right - condition.left);
      break;
  }
  known_.reset();
}

bool Facts::uses_loop_variable(const Expr& expr) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) { return expr.uses(loop.variable); });
}

void Facts::assume_zero(Expr expr) {
  if (expr.is_constant(0)) return;
  uint64_t common = content(expr);
  if (common > 1 && common <= static_cast<uint64_t>(INT64_MAX)) {
    expr = divide_exactly(expr, static_cast<int64_t>(common));
  }
  std::optional<SymbolId> best;
  std::pair<int, SymbolId> best_rank;
  Expr best_value;
  for (const Term& term : expr.node().terms) {
    auto id = make_term(1, term.monomial).as_symbol();
    if (!id || (term.coefficient != 1 && term.coefficient != -1)) continue;
    std::pair<int, SymbolId> rank{rank_of((*symbols_)[*id].kind), *id};
    if (best && rank < best_rank) continue;
    Expr value = Expr::symbol(*id) - expr * Expr(term.coefficient);
    if (value.uses(*id) || (rank.first == 0 && uses_loop_variable(value))) continue;
    best = id;
    best_rank = rank;
    best_value = value;
  }
  if (best) {
    equalities_.emplace_back(*best, best_value);
  } else {
    nonnegative_.push_back(expr);
    nonnegative_.push_back(-expr);
  }
}

void Facts::assume_loop(SymbolId variable, const Expr& lo, const Expr& hi) {
  loops_.push_back({variable, lo, hi});
  known_.reset();
}

Expr Facts::canonical(const Expr& expr) const { return known().canonical(expr); }

std::optional<bool> Facts::prove(const Condition& condition) const {
  Known* known = &this->known();
  if (condition.relation == Relation::Ne) {
    auto equal = prove(negate(condition));
    return equal ? std::optional<bool>(!*equal) : std::nullopt;
  }
  Expr difference = known->canonical(condition.right - condition.left);
  auto decide = [&](const Expr& d) -> std::optional<bool> {
    if (condition.relation == Relation::Eq) {
      if (auto value = d.constant()) return *value == 0;
      if (never_zero(d)) return false;
      for (const Expr& nonzero : known->nonzero) {
        if (nonzero == d || nonzero == -d) return false;
      }
      bool not_negative = proved(known, d);
      if (not_negative && proved(known, d - 1)) return false;
      bool not_positive = proved(known, -d);
      if (not_positive && proved(known, -d - 1)) return false;
      if (not_negative && not_positive) return true;
      return std::nullopt;
    }
    Expr margin = condition.relation == Relation::Lt ? d - 1 : d;
    if (proved(known, margin)) return true;
    if (proved(known, -margin - 1)) return false;
    return std::nullopt;
  };
  if (auto decided = decide(difference)) return decided;
  Expr simple = simplify(difference);
  return simple == difference ? std::nullopt : decide(simple);
}

}  // namespace ferrule
