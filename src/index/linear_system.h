// Polynomial inequalities seen as linear ones over their monomials, and the facts that concern a goal.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "index/node.h"

namespace ferrule {

class LinearSystem {
 public:
  // `facts`: each >= 0, used where they share monomials with the goal, directly or through others. `goal`: assumed
  // >= 0, to be refuted.
  LinearSystem(std::vector<Expr> facts, const Expr& goal);

  // Adds the facts that concern the goal, what holds of the atoms met on the way, signs of monomials, and products of
  // facts with non-negative monomials where the product meets a monomial of the system.
  void close(const std::function<bool(const Monomial&)>& is_nonnegative,
             const std::function<std::vector<Expr>(const Atom&)>& facts_of);

  // True only if no integers satisfy the goal and the facts added.
  bool refute() const;

 private:
  bool concerns(const Expr& fact) const;
  void add(const Expr& row);
  void add_products(const MonomialPtr& monomial, const std::function<bool(const Monomial&)>& is_nonnegative);

  struct Hash {
    size_t operator()(const MonomialPtr& m) const { return m->hash; }
  };
  struct Equal {
    bool operator()(const MonomialPtr& a, const MonomialPtr& b) const { return compare(*a, *b) == 0; }
  };
  std::vector<Expr> facts_;
  std::vector<bool> used_;
  std::vector<Expr> rows_;
  std::unordered_set<Expr> present_;  // in rows_
  std::vector<MonomialPtr> monomials_;
  std::unordered_map<MonomialPtr, size_t, Hash, Equal> index_;
};

}  // namespace ferrule
