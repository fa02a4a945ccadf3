// Atoms that the facts decide: i % N for 0 <= i < N, N*M // M for M >= 1, min(N, M) for N <= M.
#include <algorithm>

#include "index/facts.h"
#include "index/known.h"
#include "index/node.h"
#include "index/prover.h"

namespace ferrule {
namespace {

class Simplifier {
 public:
  explicit Simplifier(Known* known) : known_(known) {}

  Expr simplify(const Expr& expr) {
    bool plain = std::all_of(expr.node().terms.begin(), expr.node().terms.end(), [](const Term& term) {
      return std::all_of(term.monomial->factors.begin(), term.monomial->factors.end(),
                         [](const Factor& factor) { return factor.atom.kind == AtomKind::Symbol; });
    });
    if (plain) return expr;
    Sum sum(expr.node().constant);
    for (const Term& term : expr.node().terms) {
      Expr value(1);
      for (const Factor& factor : term.monomial->factors) {
        value = value * pow(simplify(factor.atom), Expr(factor.exponent));
      }
      sum.add(value, term.coefficient);
    }
    return sum.build();
  }

 private:
  bool nonnegative(const Expr& expr) { return Prover(known_).nonnegative(expr); }

  Expr simplify(const Atom& atom) {
    if (atom.kind == AtomKind::Symbol) return make_atom(atom);
    std::vector<Expr> operands;
    for (const Expr& operand : *atom.operands) operands.push_back(simplify(operand));
    if (atom.kind == AtomKind::Min || atom.kind == AtomKind::Max) return extreme(atom.kind, operands);
    if (atom.kind == AtomKind::Pow) return pow(operands[0], operands[1]);
    return division(atom.kind, operands[0], operands[1]);
  }

  Expr extreme(AtomKind kind, const std::vector<Expr>& operands) {
    std::vector<Expr> kept;
    for (const Expr& operand : operands) {
      auto implied = [&](const Expr& other) {
        return nonnegative(kind == AtomKind::Min ? operand - other : other - operand);
      };
      if (std::any_of(kept.begin(), kept.end(), implied)) continue;
      std::erase_if(kept, [&](const Expr& other) {
        return nonnegative(kind == AtomKind::Min ? other - operand : operand - other);
      });
      kept.push_back(operand);
    }
    Expr result = kept[0];
    for (const Expr& operand : kept) result = kind == AtomKind::Min ? min(result, operand) : max(result, operand);
    return result;
  }

  Expr division(AtomKind kind, const Expr& a, const Expr& b) {
    bool wants_quotient = kind == AtomKind::FloorDiv;
    Expr plain = wants_quotient ? floordiv(a, b) : mod(a, b);
    if (!nonnegative(b - 1)) return plain;
    Expr quotient(0), rest = a;
    if (!b.constant()) std::tie(quotient, rest) = divide(a, b);
    if (nonnegative(rest) && nonnegative(b - 1 - rest)) return wants_quotient ? quotient : rest;
    if (quotient.is_constant(0)) return plain;
    return wants_quotient ? quotient + floordiv(rest, b) : mod(rest, b);
  }

  Known* known_;
};

}  // namespace

Expr Facts::simplify(const Expr& expr) const {
  Known* known = &this->known();
  return Simplifier(known).simplify(known->canonical(expr));
}

}  // namespace ferrule
