// What an Expr is made of; private to index/. A polynomial is a constant and terms in a graded lexicographic order of
// their monomials; a monomial is a product of atoms with positive exponents.
//
// Invariants of canonical nodes: no zero coefficients, no repeated monomials, factors ascending; a constant divisor of
// an atom is >= 2 and Mod by a constant is spelt x - c * (x // c); Pow has a non-constant exponent, exponent 1 as a
// factor, and a base that is -1, 0, a prime, one atom, or a polynomial of several terms; no other factor of its
// monomial has the same base.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "index/expr.h"

namespace ferrule {

struct Atom {
  AtomKind kind = AtomKind::Symbol;
  SymbolId symbol = 0;                                // Symbol
  std::shared_ptr<const std::vector<Expr>> operands;  // the others: two; Min and Max two or more, ascending

  const Expr& operand(size_t i) const { return (*operands)[i]; }
};

struct Factor {
  Atom atom;
  int64_t exponent = 1;
};

struct Monomial {
  std::vector<Factor> factors;
  int64_t degree = 0;
  size_t hash = 0;
  uint64_t mask = 0;  // bit (id % 64) of every symbol in it
  bool has_power = false;
  bool has_constant_power = false;  // a Pow of a constant base of magnitude >= 2
};

using MonomialPtr = std::shared_ptr<const Monomial>;

struct Term {
  int64_t coefficient = 0;
  MonomialPtr monomial;
};

struct ExprNode {
  int64_t constant = 0;
  std::vector<Term> terms;
  size_t hash = 0;
  uint64_t mask = 0;
};

inline uint64_t symbol_bit(SymbolId id) { return uint64_t{1} << (id % 64); }

int compare(const Atom& a, const Atom& b);
// Negative if `a` comes first: higher degrees first.
int compare(const Monomial& a, const Monomial& b);
// Whether the symbol occurs in the atom or in its operands.
bool uses(const Atom& atom, SymbolId id);

// `factors` ascending and merged.
MonomialPtr make_monomial(std::vector<Factor> factors);
// coefficient * monomial, as a canonical expression; null: the constant.
Expr make_term(int64_t coefficient, const MonomialPtr& monomial);
Expr make_atom(Atom atom);
Expr make_atom(AtomKind kind, std::vector<Expr> operands);
// The product of two monomials, usually of one term.
Expr multiply(const MonomialPtr& a, const MonomialPtr& b);
// a / b if every factor of b divides a (a null result stands for 1); nullopt otherwise.
std::optional<MonomialPtr> divide(const Monomial& a, const Monomial& b);
// The monomial without its factor `index`; null for 1.
MonomialPtr without(const Monomial& monomial, size_t index);
// a == quotient * b + remainder by leading terms; b is not constant.
std::pair<Expr, Expr> divide(const Expr& a, const Expr& b);
// Greatest common divisor of all coefficients and the constant; 0 for 0.
uint64_t content(const Expr& expr);
// All coefficients and the constant divided by a common divisor.
Expr divide_exactly(const Expr& expr, int64_t divisor);
// The sole factor of an expression that is one atom, else null; valid while the expression lives.
const Atom* as_atom(const Expr& expr);
const Atom* as_atom(Expr&& expr) = delete;
// Spells k*x - k*c*(x // c) as k*Mod(x, c) where that is not longer. The result is not canonical: only for text,
// postfix code and bounds.
Expr with_mods(const Expr& expr);

// Collects terms in any order.
class Sum {
 public:
  explicit Sum(int64_t constant = 0) : constant_(constant) {}
  void add(int64_t constant);
  void add(int64_t coefficient, const MonomialPtr& monomial);
  void add(const Expr& expr, int64_t coefficient = 1);
  Expr build();

 private:
  int64_t constant_;
  std::vector<Term> terms_;
};

}  // namespace ferrule
