// Bounds of expressions over the ranges of loop variables.
#include <algorithm>
#include <tuple>

#include "index/facts.h"
#include "index/known.h"
#include "index/node.h"
#include "index/prover.h"

namespace ferrule {
namespace {

enum class Direction { Constant, Rising, Falling, Unknown };

Direction flip(Direction d) {
  if (d == Direction::Rising) return Direction::Falling;
  return d == Direction::Falling ? Direction::Rising : d;
}

Direction join(Direction a, Direction b) {
  if (a == Direction::Constant || a == b) return b;
  return b == Direction::Constant ? a : Direction::Unknown;
}

class Bounds {
 public:
  explicit Bounds(Known* known) : known_(known) {}

  std::optional<Expr> bound(Expr expr, bool upper) {
    for (auto loop = known_->loops.rbegin(); loop != known_->loops.rend(); ++loop) {
      if (!expr.uses(loop->variable)) continue;
      Direction direction = of(expr, loop->variable);
      if (direction == Direction::Unknown) {
        expr = drop_mods(expr, loop->variable, upper);
        direction = of(expr, loop->variable);
      }
      if (direction == Direction::Unknown) return std::nullopt;
      if (direction == Direction::Constant) continue;
      bool at_end = (direction == Direction::Rising) == upper;
      expr = expr.substitute(loop->variable, at_end ? loop->hi - 1 : loop->lo);
    }
    for (SymbolId variable : known_->only_bounded) {
      if (expr.uses(variable)) return std::nullopt;
    }
    return expr;
  }

 private:
  bool nonnegative(const Expr& expr) { return Prover(known_).nonnegative(expr); }

  // 1, -1 or 0 for not known.
  int sign(const Expr& expr) {
    if (nonnegative(expr)) return 1;
    return nonnegative(-expr) ? -1 : 0;
  }

  Direction of(const Expr& expr, SymbolId variable) {
    if (!expr.uses(variable)) return Direction::Constant;
    if (auto parts = expr.split(variable)) {
      int s = sign(parts->first);
      return s == 0 ? Direction::Unknown : s > 0 ? Direction::Rising : Direction::Falling;
    }
    Direction result = Direction::Constant;
    for (const Term& term : expr.node().terms) {
      Direction d = of(*term.monomial, variable);
      result = join(result, term.coefficient < 0 ? flip(d) : d);
      if (result == Direction::Unknown) break;
    }
    return result;
  }

  Direction of(const Monomial& monomial, SymbolId variable) {
    if (!make_term(1, std::make_shared<const Monomial>(monomial)).uses(variable)) return Direction::Constant;
    Direction result = Direction::Constant;
    bool single = monomial.factors.size() == 1 && monomial.factors[0].exponent == 1;
    for (const Factor& factor : monomial.factors) {
      // A product moves with its factors where all of them are non-negative.
      if (!single && !nonnegative(make_atom(factor.atom))) return Direction::Unknown;
      result = join(result, of(factor.atom, variable));
    }
    return result;
  }

  Direction of(const Atom& atom, SymbolId variable) {
    switch (atom.kind) {
      case AtomKind::Symbol:
        return atom.symbol == variable ? Direction::Rising : Direction::Constant;
      case AtomKind::Min:
      case AtomKind::Max: {
        Direction result = Direction::Constant;
        for (const Expr& operand : *atom.operands) result = join(result, of(operand, variable));
        return result;
      }
      case AtomKind::FloorDiv:
        if (atom.operand(1).uses(variable) || !nonnegative(atom.operand(1))) return Direction::Unknown;
        return of(atom.operand(0), variable);
      case AtomKind::Mod:
        return uses(atom, variable) ? Direction::Unknown : Direction::Constant;
      case AtomKind::Pow: {
        if (!nonnegative(atom.operand(0))) return Direction::Unknown;
        Direction exponent = of(atom.operand(1), variable);
        if (exponent != Direction::Constant && !nonnegative(atom.operand(0) - 1)) return Direction::Unknown;
        return join(of(atom.operand(0), variable), exponent);
      }
    }
    return Direction::Unknown;
  }

  // Remainders by positive divisors that use the variable, replaced by an end of their range.
  Expr drop_mods(const Expr& canonical, SymbolId variable, bool upper) {
    const Expr expr = with_mods(canonical);
    Sum sum(expr.node().constant);
    for (const Term& term : expr.node().terms) {
      std::optional<Expr> replaced;
      for (size_t i = 0; i < term.monomial->factors.size() && !replaced; ++i) {
        const Factor& factor = term.monomial->factors[i];
        if (factor.atom.kind != AtomKind::Mod || factor.exponent != 1 || !uses(factor.atom, variable)) continue;
        const Expr& divisor = factor.atom.operand(1);
        Expr rest = make_term(term.coefficient, without(*term.monomial, i));
        int s = rest.uses(variable) || divisor.uses(variable) || !nonnegative(divisor - 1) ? 0 : sign(rest);
        if (s != 0) replaced = (s > 0) == upper ? rest * (divisor - 1) : Expr(0);
      }
      if (replaced) {
        sum.add(*replaced);
      } else {
        sum.add(canonical_term(term));
      }
    }
    return sum.build();
  }

  // Undoes with_mods for a term that stays.
  static Expr canonical_term(const Term& term) {
    Expr result(term.coefficient);
    for (const Factor& factor : term.monomial->factors) {
      Expr base = factor.atom.kind == AtomKind::Mod ? mod(factor.atom.operand(0), factor.atom.operand(1))
                                                    : make_atom(factor.atom);
      result = result * pow(base, Expr(factor.exponent));
    }
    return result;
  }

  Known* known_;
};

}  // namespace

std::optional<Expr> Facts::upper_bound(const Expr& expr) const {
  Known* known = &this->known();
  return Bounds(known).bound(known->canonical(expr), true);
}

std::optional<Expr> Facts::lower_bound(const Expr& expr) const {
  Known* known = &this->known();
  return Bounds(known).bound(known->canonical(expr), false);
}

}  // namespace ferrule
