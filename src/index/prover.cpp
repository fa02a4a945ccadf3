#include "index/prover.h"

#include <algorithm>

#include "base/error.h"
#include "index/linear_system.h"

namespace ferrule {
namespace {

constexpr int kDepth = 6;
constexpr int kMostSteps = 200;
constexpr int kMostEliminations = 24;

// Every occurrence of `atom` at the top of `expr` replaced.
Expr replace_atom(const Expr& expr, const Atom& atom, const Expr& value) {
  Sum sum(expr.node().constant);
  for (const Term& term : expr.node().terms) {
    const auto& factors = term.monomial->factors;
    size_t found = 0;
    while (found < factors.size() && compare(factors[found].atom, atom) != 0) ++found;
    if (found == factors.size()) {
      sum.add(term.coefficient, term.monomial);
    } else {
      Expr rest = make_term(term.coefficient, without(*term.monomial, found));
      sum.add(rest * pow(value, Expr(factors[found].exponent)));
    }
  }
  return sum.build();
}

}  // namespace

bool Prover::nonnegative(const Expr& expr) {
  try {
    bool proved = search(expr, kDepth);
    // Searching again would find as little.
    if (exhausted_) known_->memo.try_emplace(expr, kDepth);
    return proved;
  } catch (const Error& error) {
    // Intermediate expressions can leave 64 bits where the question itself does not: then it is not proved.
    if (error.builtin() != Builtin::Overflow) throw;
    return false;
  }
}

bool Prover::search(const Expr& expr, int depth) {
  if (auto value = expr.constant()) return *value >= 0;
  if (depth <= 0 || exhausted_) return false;
  // A proof under hypotheses is no proof without them.
  if (!hypotheses_.empty()) {
    auto found = known_->memo.find(expr);
    if (found != known_->memo.end() && found->second == Known::kProved) return true;
    return search_uncached(expr, depth);
  }
  auto [entry, fresh] = known_->memo.try_emplace(expr, depth);
  if (!fresh) {
    if (entry->second >= depth) return entry->second == Known::kProved;
    entry->second = depth;
  }
  bool proved = search_uncached(expr, depth);
  if (proved) {
    known_->memo[expr] = Known::kProved;
  } else if (exhausted_) {
    known_->memo.erase(expr);
  }
  return proved;
}

bool Prover::search_uncached(const Expr& expr, int depth) {
  if (++steps_ > kMostSteps) {
    exhausted_ = true;
    return false;
  }
  if (const Atom* lone = as_atom(expr)) {
    if (atom(*lone, depth)) return true;
  } else if (all_terms(expr, depth)) {
    return true;
  }
  if (auto decided = by_cases(expr, depth)) return *decided;
  if (by_loop(expr, depth) == true) return true;
  return by_elimination(expr, depth);
}

bool Prover::atom(const Atom& atom, int depth) {
  auto holds = [&](const Expr& operand) { return search(operand, depth - 1); };
  switch (atom.kind) {
    case AtomKind::Symbol:
      return known_->symbols[atom.symbol].nonnegative;
    case AtomKind::FloorDiv:
      return holds(atom.operand(1)) && holds(atom.operand(0));
    case AtomKind::Mod:
      return holds(atom.operand(1));
    case AtomKind::Min:
      return std::all_of(atom.operands->begin(), atom.operands->end(), holds);
    case AtomKind::Max:
      return std::any_of(atom.operands->begin(), atom.operands->end(), holds);
    case AtomKind::Pow:
      return holds(atom.operand(0));
  }
  return false;
}

bool Prover::monomial(const Monomial& monomial, int depth) {
  return std::all_of(monomial.factors.begin(), monomial.factors.end(), [&](const Factor& factor) {
    if (factor.exponent % 2 == 0) return true;
    if (factor.atom.kind == AtomKind::Symbol && known_->symbols[factor.atom.symbol].nonnegative) return true;
    return search(make_atom(factor.atom), depth - 1);
  });
}

bool Prover::all_terms(const Expr& expr, int depth) {
  const ExprNode& node = expr.node();
  if (node.constant < 0) return false;
  if (std::any_of(node.terms.begin(), node.terms.end(), [](const Term& t) { return t.coefficient < 0; })) return false;
  return std::all_of(node.terms.begin(), node.terms.end(), [&](const Term& t) { return monomial(*t.monomial, depth); });
}

std::optional<bool> Prover::by_cases(const Expr& expr, int depth) {
  const Atom* split = nullptr;
  const Term* only = nullptr;  // the term with it, if there is one only
  for (const Term& term : expr.node().terms) {
    for (const Factor& factor : term.monomial->factors) {
      bool is_extreme = factor.atom.kind == AtomKind::Min || factor.atom.kind == AtomKind::Max;
      if (!split && is_extreme) {
        split = &factor.atom;
        only = factor.exponent == 1 ? &term : nullptr;
      } else if (split && compare(factor.atom, *split) == 0) {
        only = nullptr;
      }
    }
  }
  if (!split) return std::nullopt;
  const auto& operands = *split->operands;
  bool is_min = split->kind == AtomKind::Min;
  auto with = [&](const Expr& operand) { return search(replace_atom(expr, *split, operand), depth - 1); };
  if (only) {
    size_t at = 0;
    while (compare(only->monomial->factors[at].atom, *split) != 0) ++at;
    MonomialPtr rest = without(*only->monomial, at);
    if (!rest || monomial(*rest, depth)) {
      // For a non-negative k, k * min(a, b) >= c is both, k * max(a, b) >= c follows from either.
      bool all = is_min == (only->coefficient > 0);
      if (all) return std::all_of(operands.begin(), operands.end(), with);
      if (std::any_of(operands.begin(), operands.end(), with)) return true;
    }
  }
  for (const Expr& chosen : operands) {
    size_t before = hypotheses_.size();
    for (const Expr& other : operands) {
      if (!(other == chosen)) hypotheses_.push_back(is_min ? other - chosen : chosen - other);
    }
    bool proved = with(chosen);
    hypotheses_.resize(before, Expr(0));
    if (!proved) return false;
  }
  return true;
}

std::optional<bool> Prover::by_loop(const Expr& expr, int depth) {
  for (auto loop = known_->loops.rbegin(); loop != known_->loops.rend(); ++loop) {
    if (!expr.uses(loop->variable)) continue;
    auto parts = expr.split(loop->variable);
    if (!parts) return std::nullopt;
    const Expr &coefficient = parts->first, &rest = parts->second;  // clang before 16 captures no structured bindings
    auto at = [&](const Expr& value) { return search(coefficient * value + rest, depth); };
    // Affine in the variable: the least value is at one of the ends.
    auto sign = coefficient.constant();
    if (sign) return at(*sign > 0 ? loop->lo : loop->hi - 1);
    if (search(coefficient, depth - 1)) return at(loop->lo);
    if (search(-coefficient, depth - 1)) return at(loop->hi - 1);
    return at(loop->lo) && at(loop->hi - 1);
  }
  return std::nullopt;
}

std::vector<Expr> Prover::facts_of(const Atom& atom, int depth) {
  std::vector<Expr> facts;
  if (atom.kind == AtomKind::Symbol) return facts;
  auto holds = [&](const Expr& expr) { return search(expr, depth - 1); };
  Expr self = make_atom(atom);
  if (atom.kind == AtomKind::Min || atom.kind == AtomKind::Max) {
    for (const Expr& operand : *atom.operands) {
      facts.push_back(atom.kind == AtomKind::Min ? operand - self : self - operand);
    }
    return facts;
  }
  const Expr& a = atom.operand(0);
  const Expr& b = atom.operand(1);
  if (atom.kind == AtomKind::Pow) {
    if (holds(a - 1)) facts.push_back(self - 1);
    return facts;
  }
  bool positive = holds(b - 1);
  if (!positive && !holds(b)) return facts;
  bool dividend_nonnegative = holds(a);
  if (dividend_nonnegative) {
    facts.push_back(self);
    facts.push_back(a - self);
  }
  if (atom.kind == AtomKind::Mod) {
    facts.push_back(self);
    facts.push_back(positive ? b - 1 - self : b - self);
    Expr quotient = floordiv(a, b);
    if (positive) {
      facts.push_back(a - b * quotient - self);
      facts.push_back(self - a + b * quotient);
    }
  } else {
    if (positive) facts.push_back(b * self + b - 1 - a);
    if (positive || dividend_nonnegative) facts.push_back(a - b * self);
  }
  return facts;
}

bool Prover::by_elimination(const Expr& expr, int depth) {
  if (++eliminations_ > kMostEliminations) {
    exhausted_ = true;
    return false;
  }
  std::vector<Expr> facts = known_->nonnegative;
  for (const Known::Loop& loop : known_->loops) {
    Expr variable = Expr::symbol(loop.variable);
    facts.push_back(variable - loop.lo);
    facts.push_back(loop.hi - 1 - variable);
    facts.push_back(loop.hi - 1 - loop.lo);
  }
  facts.insert(facts.end(), hypotheses_.begin(), hypotheses_.end());
  LinearSystem system(std::move(facts), -expr - 1);
  system.close([&](const Monomial& m) { return monomial(m, depth - 1); },
               [&](const Atom& a) { return facts_of(a, depth - 1); });
  return system.refute();
}

}  // namespace ferrule
