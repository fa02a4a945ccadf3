// Products and quotients of monomials, and division of polynomials.
#include <algorithm>

#include "index/checked.h"
#include "index/node.h"

namespace ferrule {
namespace {

bool atom_less(const Factor& a, const Factor& b) { return compare(a.atom, b.atom) < 0; }

struct Power {
  Expr base, exponent;
};

void collect(const Monomial& monomial, std::vector<Power>* powers) {
  for (const Factor& factor : monomial.factors) {
    bool is_power = factor.atom.kind == AtomKind::Pow;
    Expr base = is_power ? factor.atom.operand(0) : make_atom(factor.atom);
    Expr exponent = is_power ? factor.atom.operand(1) * Expr(factor.exponent) : Expr(factor.exponent);
    auto found = std::find_if(powers->begin(), powers->end(), [&](const Power& p) { return p.base == base; });
    if (found == powers->end()) {
      powers->push_back({std::move(base), std::move(exponent)});
    } else {
      found->exponent = found->exponent + exponent;
    }
  }
}

// Adds the exponents of one base: R * R**i is R**(i + 1).
Expr multiply_powers(const Monomial& a, const Monomial& b) {
  std::vector<Power> powers;
  collect(a, &powers);
  collect(b, &powers);
  std::vector<Factor> factors;
  Expr others(1);
  for (const Power& power : powers) {
    auto exponent = power.exponent.constant();
    const Atom* atom = as_atom(power.base);
    if (!exponent) {
      auto operands = std::make_shared<const std::vector<Expr>>(std::vector<Expr>{power.base, power.exponent});
      factors.push_back({Atom{AtomKind::Pow, 0, std::move(operands)}, 1});
    } else if (atom && *exponent > 0) {
      factors.push_back({*atom, *exponent});
    } else {
      others = others * pow(power.base, power.exponent);
    }
  }
  if (factors.empty()) return others;
  std::sort(factors.begin(), factors.end(), atom_less);
  return make_term(1, make_monomial(std::move(factors))) * others;
}

}  // namespace

Expr multiply(const MonomialPtr& a, const MonomialPtr& b) {
  if (a->has_power || b->has_power) return multiply_powers(*a, *b);
  std::vector<Factor> factors;
  factors.reserve(a->factors.size() + b->factors.size());
  auto i = a->factors.begin();
  auto j = b->factors.begin();
  while (i != a->factors.end() && j != b->factors.end()) {
    int order = compare(i->atom, j->atom);
    if (order < 0) {
      factors.push_back(*i++);
    } else if (order > 0) {
      factors.push_back(*j++);
    } else {
      factors.push_back({i->atom, checked::add(i->exponent, j->exponent)});
      ++i;
      ++j;
    }
  }
  factors.insert(factors.end(), i, a->factors.end());
  factors.insert(factors.end(), j, b->factors.end());
  return make_term(1, make_monomial(std::move(factors)));
}

std::optional<MonomialPtr> divide(const Monomial& a, const Monomial& b) {
  std::vector<Factor> factors;
  auto j = b.factors.begin();
  for (const Factor& factor : a.factors) {
    if (j == b.factors.end() || compare(factor.atom, j->atom) != 0) {
      factors.push_back(factor);
      continue;
    }
    if (factor.exponent < j->exponent) return std::nullopt;
    if (factor.exponent > j->exponent) factors.push_back({factor.atom, factor.exponent - j->exponent});
    ++j;
  }
  if (j != b.factors.end()) return std::nullopt;
  return factors.empty() ? nullptr : make_monomial(std::move(factors));
}

MonomialPtr without(const Monomial& monomial, size_t index) {
  if (monomial.factors.size() == 1) return nullptr;
  std::vector<Factor> factors = monomial.factors;
  factors.erase(factors.begin() + static_cast<ptrdiff_t>(index));
  return make_monomial(std::move(factors));
}

std::pair<Expr, Expr> divide(const Expr& a, const Expr& b) {
  const Term lead = b.node().terms.front();
  Expr quotient(0), remainder = a;
  // Leading terms fall in a monomial order, but merged powers can break it: hence the limit.
  for (int step = 0; step < 64; ++step) {
    bool reduced = false;
    for (const Term& term : remainder.node().terms) {
      int64_t coefficient = checked::floordiv(term.coefficient, lead.coefficient);
      if (coefficient == 0) continue;
      auto monomial = divide(*term.monomial, *lead.monomial);
      if (!monomial) continue;
      Expr part = make_term(coefficient, *monomial);
      quotient = quotient + part;
      remainder = remainder - part * b;
      reduced = true;
      break;
    }
    if (!reduced) break;
  }
  return {quotient, remainder};
}

uint64_t content(const Expr& expr) {
  uint64_t result = checked::magnitude(expr.node().constant);
  for (const Term& term : expr.node().terms) result = checked::gcd(result, term.coefficient);
  return result;
}

Expr divide_exactly(const Expr& expr, int64_t divisor) {
  Sum sum(expr.node().constant / divisor);
  for (const Term& term : expr.node().terms) sum.add(term.coefficient / divisor, term.monomial);
  return sum.build();
}

}  // namespace ferrule
