// Constructors of the non-polynomial atoms, with the rewrites that make them canonical.
#include <algorithm>

#include "index/checked.h"
#include "index/node.h"

namespace ferrule {
namespace {

bool fits(uint64_t value) { return value <= static_cast<uint64_t>(INT64_MAX); }

// Divides both by their common content and makes the leading coefficient of `b` positive; gives the divisor, which is
// negative if the signs were changed.
int64_t reduce_pair(Expr* a, Expr* b) {
  uint64_t common = checked::gcd(content(*a), static_cast<int64_t>(content(*b)));
  int64_t divisor = fits(common) && common > 0 ? static_cast<int64_t>(common) : 1;
  if (b->node().terms.front().coefficient < 0) divisor = -divisor;
  if (divisor != 1) {
    *a = divide_exactly(*a, divisor);
    *b = divide_exactly(*b, divisor);
  }
  return divisor;
}

Expr floordiv_constant(const Expr& a, int64_t d) {
  if (d == 0) return Expr(0);
  if (d == 1) return a;
  if (d < 0) return floordiv_constant(-a, checked::subtract(0, d));
  if (auto value = a.constant()) return Expr(checked::floordiv(*value, d));
  // Multiples of d leave the division; the rest has coefficients in [0, d).
  Sum quotient(checked::floordiv(a.node().constant, d));
  Sum rest_sum(checked::mod(a.node().constant, d));
  for (const Term& term : a.node().terms) {
    quotient.add(checked::floordiv(term.coefficient, d), term.monomial);
    rest_sum.add(checked::mod(term.coefficient, d), term.monomial);
  }
  Expr rest = rest_sum.build();
  if (rest.constant()) return quotient.build() + floordiv_constant(rest, d);
  uint64_t common = static_cast<uint64_t>(d);
  for (const Term& term : rest.node().terms) common = checked::gcd(common, term.coefficient);
  if (common > 1) {
    int64_t g = static_cast<int64_t>(common);
    int64_t constant = rest.node().constant;
    rest = divide_exactly(rest - Expr(constant), g) + Expr(checked::floordiv(constant, g));
    return quotient.build() + floordiv_constant(rest, d / g);
  }
  // (x // c + k) // d is (x + c * k) // (c * d).
  const Expr variable_part = rest - Expr(rest.node().constant);
  const Atom* inner = as_atom(variable_part);
  if (inner && inner->kind == AtomKind::FloorDiv) {
    auto c = inner->operand(1).constant();
    int64_t divisor;
    if (c && *c > 0 && !__builtin_mul_overflow(*c, d, &divisor)) {
      Expr dividend = inner->operand(0) + Expr(checked::multiply(*c, rest.node().constant));
      return quotient.build() + floordiv_constant(dividend, divisor);
    }
  }
  return quotient.build() + make_atom(AtomKind::FloorDiv, {rest, Expr(d)});
}

constexpr size_t kMaxOperands = 16;

// The sole term of the expression that is `kind` times a positive or its dual times a negative number.
const Term* extreme_term(const Expr& expr, AtomKind kind) {
  const Term* found = nullptr;
  for (const Term& term : expr.node().terms) {
    const Monomial& monomial = *term.monomial;
    if (monomial.factors.size() != 1 || monomial.factors[0].exponent != 1) continue;
    AtomKind atom = monomial.factors[0].atom.kind;
    if (atom != AtomKind::Min && atom != AtomKind::Max) continue;
    if ((atom == kind) != (term.coefficient > 0)) continue;
    if (found) return nullptr;
    found = &term;
  }
  return found;
}

void flatten(AtomKind kind, const Expr& operand, std::vector<Expr>* operands) {
  const Term* term = extreme_term(operand, kind);
  if (!term || operands->size() + term->monomial->factors[0].atom.operands->size() > kMaxOperands) {
    operands->push_back(operand);
    return;
  }
  Expr rest = operand - make_term(term->coefficient, term->monomial);
  for (const Expr& inner : *term->monomial->factors[0].atom.operands) {
    flatten(kind, inner * Expr(term->coefficient) + rest, operands);
  }
}

AtomKind dual(AtomKind kind) { return kind == AtomKind::Min ? AtomKind::Max : AtomKind::Min; }

// Whether `operand` is an inner max (for min) one of whose operands is no smaller than another operand of the min.
bool is_absorbed(AtomKind kind, const Expr& operand, const std::vector<Expr>& operands) {
  std::vector<Expr> inner;
  flatten(dual(kind), operand, &inner);
  if (inner.size() == 1) return false;
  for (const Expr& part : inner) {
    for (const Expr& other : operands) {
      auto margin = (kind == AtomKind::Min ? part - other : other - part).constant();
      if (margin && *margin >= 0) return true;
    }
  }
  return false;
}

// Of operands that differ by a constant one stays; the smallest constant and the common divisor move outside.
Expr extreme(AtomKind kind, const Expr& a, const Expr& b) {
  std::vector<Expr> flat;
  flatten(kind, a, &flat);
  flatten(kind, b, &flat);
  std::vector<Expr> operands;
  for (const Expr& operand : flat) {
    auto same = std::find_if(operands.begin(), operands.end(), [&](const Expr& kept) {
      return kept.node().terms.size() == operand.node().terms.size() && (kept - operand).constant();
    });
    if (same == operands.end()) {
      operands.push_back(operand);
    } else if ((operand.node().constant < same->node().constant) == (kind == AtomKind::Min)) {
      *same = operand;
    }
  }
  const std::vector<Expr> all = operands;
  std::erase_if(operands, [&](const Expr& operand) { return is_absorbed(kind, operand, all); });
  if (operands.size() == 1) return operands[0];
  int64_t offset = operands[0].node().constant;
  int64_t highest = offset;
  for (const Expr& operand : operands) {
    offset = std::min(offset, operand.node().constant);
    highest = std::max(highest, operand.node().constant);
  }
  int64_t spread;
  if (__builtin_sub_overflow(highest, offset, &spread)) offset = 0;
  uint64_t common = 0;
  for (Expr& operand : operands) {
    operand = operand - Expr(offset);
    common = checked::gcd(content(operand), static_cast<int64_t>(common));
  }
  int64_t scale = fits(common) ? static_cast<int64_t>(common) : 1;
  if (scale > 1) {
    for (Expr& operand : operands) operand = divide_exactly(operand, scale);
  }
  std::sort(operands.begin(), operands.end(), [](const Expr& x, const Expr& y) { return Expr::compare(x, y) < 0; });
  return make_atom(kind, std::move(operands)) * Expr(scale) + Expr(offset);
}

Expr power_atom(const Expr& base, const Expr& exponent) {
  if (exponent.constant()) return pow(base, exponent);
  return make_atom(AtomKind::Pow, {base, exponent});
}

// A power of -1 and of primes, so that 4**i and 2**i * 2**i are one expression. Factors above the limit stay together.
Expr power_of_constant(int64_t base, const Expr& exponent) {
  constexpr uint64_t kLargestPrime = 1 << 12;
  if (base == 0) return power_atom(Expr(0), exponent);
  Expr result = base < 0 ? power_atom(Expr(-1), exponent) : Expr(1);
  uint64_t rest = checked::magnitude(base);
  for (uint64_t prime = 2; prime <= kLargestPrime && prime * prime <= rest; ++prime) {
    int64_t power = 0;
    for (; rest % prime == 0; rest /= prime) ++power;
    if (power > 0) result = result * power_atom(Expr(static_cast<int64_t>(prime)), exponent * Expr(power));
  }
  if (rest > static_cast<uint64_t>(INT64_MAX)) checked::overflow();
  if (rest > 1) result = result * power_atom(Expr(static_cast<int64_t>(rest)), exponent);
  return result;
}

Expr power_by_constant(const Expr& base, int64_t exponent) {
  if (exponent < 0) return Expr(0);
  if (auto value = base.constant()) return Expr(checked::power(*value, exponent));
  if (const Atom* atom = as_atom(base); atom && exponent > 0 && atom->kind != AtomKind::Pow) {
    return make_term(1, make_monomial({{*atom, exponent}}));
  }
  Expr result(1), square = base;
  for (int64_t left = exponent; left > 0;) {
    if (left % 2 == 1) result = result * square;
    left /= 2;
    if (left > 0) square = square * square;
  }
  return result;
}

}  // namespace

Expr floordiv(const Expr& a, const Expr& b) {
  if (auto d = b.constant()) return floordiv_constant(a, *d);
  if (a.is_constant(0)) return Expr(0);
  Expr dividend = a, divisor = b;
  reduce_pair(&dividend, &divisor);
  return make_atom(AtomKind::FloorDiv, {dividend, divisor});
}

Expr mod(const Expr& a, const Expr& b) {
  if (auto d = b.constant()) {
    if (*d == 0) return Expr(0);
    if (auto value = a.constant()) return Expr(checked::mod(*value, *d));
    return a - floordiv_constant(a, *d) * b;
  }
  if (a.is_constant(0)) return Expr(0);
  Expr dividend = a, divisor = b;
  int64_t scale = reduce_pair(&dividend, &divisor);
  // Multiples of the divisor vanish also where it is 0: the remainder is 0 then.
  dividend = divide(dividend, divisor).second;
  if (dividend.is_constant(0)) return Expr(0);
  return make_atom(AtomKind::Mod, {dividend, divisor}) * Expr(scale);
}

Expr min(const Expr& a, const Expr& b) {
  if (a.constant() && b.constant()) return *a.constant() < *b.constant() ? a : b;
  return extreme(AtomKind::Min, a, b);
}

Expr max(const Expr& a, const Expr& b) {
  if (a.constant() && b.constant()) return *a.constant() > *b.constant() ? a : b;
  return extreme(AtomKind::Max, a, b);
}

Expr pow(const Expr& base, const Expr& exponent) {
  if (auto value = exponent.constant()) return power_by_constant(base, *value);
  if (auto value = base.constant()) return power_of_constant(*value, exponent);
  const ExprNode& node = base.node();
  if (node.constant != 0 || node.terms.size() != 1) {
    uint64_t common = content(base);
    if (common <= 1 || !fits(common)) return power_atom(base, exponent);
    int64_t scale = static_cast<int64_t>(common);
    return power_of_constant(scale, exponent) * power_atom(divide_exactly(base, scale), exponent);
  }
  const Term& term = node.terms[0];
  Expr result = power_of_constant(term.coefficient, exponent);
  for (const Factor& factor : term.monomial->factors) {
    if (factor.atom.kind == AtomKind::Pow) {
      result = result * pow(factor.atom.operand(0), factor.atom.operand(1) * exponent);
    } else {
      result = result * power_atom(make_atom(factor.atom), exponent * Expr(factor.exponent));
    }
  }
  return result;
}

}  // namespace ferrule
