// Recovers x % c from its canonical spelling x - c * (x // c).
#include "index/checked.h"
#include "index/node.h"

namespace ferrule {
namespace {

// One term k * q * rest with q = x // c and k == -c * j becomes j * (m - x) * rest, where that takes no more terms
// (fewer, for a negative j: 2*(N//2) stays).
std::optional<Expr> recover_one(const Expr& expr, Sum* mods) {
  for (const Term& term : expr.node().terms) {
    for (size_t i = 0; i < term.monomial->factors.size(); ++i) {
      const Factor& factor = term.monomial->factors[i];
      if (factor.atom.kind != AtomKind::FloorDiv || factor.exponent != 1) continue;
      auto c = factor.atom.operand(1).constant();
      if (!c || term.coefficient % *c != 0) continue;
      int64_t j = -(term.coefficient / *c);
      MonomialPtr rest = without(*term.monomial, i);
      if (rest && rest->has_power) continue;
      Expr without_term = expr - make_term(term.coefficient, term.monomial);
      Expr left = without_term - factor.atom.operand(0) * make_term(j, rest);
      size_t before = without_term.node().terms.size() + (without_term.node().constant != 0);
      size_t after = left.node().terms.size() + (left.node().constant != 0);
      if (j > 0 ? after > before : after >= before) continue;
      Expr atom = make_atom(Atom{AtomKind::Mod, 0, factor.atom.operands});
      mods->add(atom * make_term(j, rest));
      return left;
    }
  }
  return std::nullopt;
}

}  // namespace

Expr with_mods(const Expr& expr) {
  bool candidate = false;
  for (const Term& term : expr.node().terms) {
    for (const Factor& factor : term.monomial->factors) candidate |= factor.atom.kind == AtomKind::FloorDiv;
  }
  if (!candidate) return expr;
  Sum mods;
  Expr left = expr;
  while (auto next = recover_one(left, &mods)) left = *next;
  mods.add(left);
  return mods.build();
}

}  // namespace ferrule
