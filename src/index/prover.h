// Proofs of `expression >= 0` from known facts; private to index/.
#pragma once

#include <vector>

#include "index/known.h"
#include "index/node.h"

namespace ferrule {

// Sound, incomplete and bounded in effort. One object answers one question; what it finds is kept in Known::memo.
class Prover {
 public:
  explicit Prover(Known* known) : known_(known) {}

  // `expr` canonical under the facts.
  bool nonnegative(const Expr& expr);
  // Subgoals and eliminations so far: the measure of effort.
  int steps() const { return steps_; }
  int eliminations() const { return eliminations_; }

 private:
  bool search(const Expr& expr, int depth);
  bool search_uncached(const Expr& expr, int depth);
  bool atom(const Atom& atom, int depth);
  bool all_terms(const Expr& expr, int depth);
  bool monomial(const Monomial& monomial, int depth);
  // nullopt where there is no min or max to split.
  std::optional<bool> by_cases(const Expr& expr, int depth);
  // Ends of the innermost loop variable; nullopt where there is none that the expression is affine in.
  std::optional<bool> by_loop(const Expr& expr, int depth);
  bool by_elimination(const Expr& expr, int depth);
  // What holds of an atom whatever the other facts are, each >= 0.
  std::vector<Expr> facts_of(const Atom& atom, int depth);

  Known* known_;
  std::vector<Expr> hypotheses_;  // of the case under proof, each >= 0
  int steps_ = 0;
  int eliminations_ = 0;
  bool exhausted_ = false;
};

}  // namespace ferrule
