#include "index/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "index/node.h"

namespace ferrule {
namespace {

// Integers up to 2**64 are exact in it, which the ranges rely on.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
constexpr Real kExact = 18446744073709551616.0L;  // 2**64
constexpr Real kLargest = 9223372036854775807.0L;
constexpr Real kMemory = 140737488355328.0L;  // 2**47

// Closed and not empty. An end that is not exact is infinite, so that no later difference hides the rounding.
struct Range {
  Real low, high;
};

Range exact(Real low, Real high) {
  return {std::isnan(low) || low < -kExact ? -kInfinity : std::min(low, kExact),
          std::isnan(high) || high > kExact ? kInfinity : std::max(high, -kExact)};
}

Real times(Real a, Real b) { return a == 0 || b == 0 ? 0 : a * b; }

Real magnitude(const Range& r) { return std::max(std::abs(r.low), std::abs(r.high)); }

Range add(const Range& a, const Range& b) { return exact(a.low + b.low, a.high + b.high); }

Range multiply(const Range& a, const Range& b) {
  const Real corners[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
  const auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
  return exact(*low, *high);
}

Range range_of(const Expr& expr, const Symbols& symbols);

Range floordiv(const Range& a, const Range& b) {
  if (b.low >= 1) return {std::min<Real>(a.low, 0), std::max<Real>(a.high, 0)};
  return {-magnitude(a), magnitude(a)};
}

Range mod(const Range& b) { return {std::min<Real>(b.low + 1, 0), std::max<Real>(b.high - 1, 0)}; }

Range power(const Range& base, const Range& exponent) {
  const Real largest = std::max<Real>(1, std::pow(magnitude(base), exponent.high));
  return exact(base.low >= 0 ? 0 : -largest, largest);
}

Range range_of(SymbolId id, const Symbols& symbols) {
  const Symbol& symbol = symbols[id];
  const bool memory = symbol.kind == SymbolKind::Extent || symbol.kind == SymbolKind::Stride;
  const Real high = memory ? kMemory : kLargest;
  if (symbol.nonnegative) return {0, high};
  return {memory ? -high : -high - 1, high};
}

Range range_of(const Atom& atom, const Symbols& symbols) {
  if (atom.kind == AtomKind::Symbol) return range_of(atom.symbol, symbols);
  Range result = range_of(atom.operand(0), symbols);
  for (size_t i = 1; i < atom.operands->size(); ++i) {
    const Range other = range_of(atom.operand(i), symbols);
    switch (atom.kind) {
      case AtomKind::FloorDiv:
        result = floordiv(result, other);
        break;
      case AtomKind::Mod:
        result = mod(other);
        break;
      case AtomKind::Min:
        result = {std::min(result.low, other.low), std::min(result.high, other.high)};
        break;
      case AtomKind::Max:
        result = {std::max(result.low, other.low), std::max(result.high, other.high)};
        break;
      case AtomKind::Pow:
        result = power(result, other);
        break;
      case AtomKind::Symbol:
        break;
    }
  }
  return result;
}

Range range_of(const Expr& expr, const Symbols& symbols) {
  const Expr spelt = with_mods(expr);
  const auto constant = static_cast<Real>(spelt.node().constant);
  Range sum{constant, constant};
  for (const Term& term : spelt.node().terms) {
    const auto coefficient = static_cast<Real>(term.coefficient);
    Range product{coefficient, coefficient};
    for (const Factor& factor : term.monomial->factors) {
      const Range value = range_of(factor.atom, symbols);
      // More factors of one sign change nothing: all that can leave 64 bits has.
      const int64_t repeated = std::min<int64_t>(factor.exponent, 64 + factor.exponent % 2);
      for (int64_t i = 0; i < repeated; ++i) product = multiply(product, value);
    }
    sum = add(sum, product);
  }
  return sum;
}

}  // namespace

Int64Fit fit_int64(const Expr& expr, const Facts& facts, const Symbols& symbols) {
  const Range whole = range_of(expr, symbols);
  Int64Fit fit{whole.low >= -kLargest - 1, whole.high <= kLargest};
  try {
    if (!fit.high) {
      const auto bound = facts.upper_bound(expr);
      fit.high = bound && range_of(*bound, symbols).high <= kLargest;
    }
    if (!fit.low) {
      const auto bound = facts.lower_bound(expr);
      fit.low = bound && range_of(*bound, symbols).low >= -kLargest - 1;
    }
  } catch (const Error& error) {
    if (error.builtin() != Builtin::Overflow) throw;  // a bound that 64 bits do not hold shows nothing
  }
  return fit;
}

}  // namespace ferrule
