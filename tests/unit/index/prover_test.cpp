// The effort of proofs, counted in steps.
#include "index/prover.h"

#include <gtest/gtest.h>

namespace ferrule {
namespace {

TEST(Prover, EffortIsBoundedInDeepNests) {
  Symbols symbols;
  Facts facts(&symbols);
  std::vector<Expr> extents, variables;
  for (int i = 0; i < 8; ++i) extents.push_back(Expr::symbol(symbols.add("N", SymbolKind::Extent, true)));
  for (int i = 0; i < 8; ++i) {
    SymbolId id = symbols.add("i", SymbolKind::Loop, false);
    facts.assume_loop(id, i == 0 ? Expr(0) : variables.back(), extents[i]);
    variables.push_back(Expr::symbol(id));
  }
  EXPECT_TRUE(facts.prove_nonnegative(extents[7] - 1 - variables[7]));
  EXPECT_TRUE(facts.prove_nonnegative(variables[7]));
  EXPECT_TRUE(facts.prove_nonnegative(extents[3] - 1 - variables[0]));

  Expr all = product(variables) - extents[0] * extents[1];
  auto answer = facts.prove({Relation::Le, 0, all});
  EXPECT_FALSE(answer);
}

TEST(Prover, RemembersAnswers) {
  Symbols symbols;
  Facts facts(&symbols);
  Expr n = Expr::symbol(symbols.add("N", SymbolKind::Extent, true));
  Expr s = Expr::symbol(symbols.add("s", SymbolKind::Scalar, false));
  facts.assume({Relation::Le, s, n});
  Known known(facts);
  Prover first(&known);
  EXPECT_TRUE(first.nonnegative(n * n - n * s));
  EXPECT_FALSE(first.nonnegative(s - 1));
  EXPECT_GT(first.steps(), 1);
  Prover second(&known);
  EXPECT_TRUE(second.nonnegative(n * n - n * s));
  EXPECT_FALSE(second.nonnegative(s - 1));
  EXPECT_EQ(second.steps(), 0);
}

TEST(Prover, SimpleQuestionsTakeFewSteps) {
  Symbols symbols;
  Facts facts(&symbols);
  Expr n = Expr::symbol(symbols.add("N", SymbolKind::Extent, true));
  SymbolId i = symbols.add("i", SymbolKind::Loop, false);
  facts.assume_loop(i, 1, n - 1);
  Known known(facts);
  Prover prover(&known);
  EXPECT_TRUE(prover.nonnegative(n));
  EXPECT_EQ(prover.eliminations(), 0);
  EXPECT_TRUE(prover.nonnegative(Expr::symbol(i) - 1));
  EXPECT_TRUE(prover.nonnegative(n - 2 - Expr::symbol(i)));
  EXPECT_EQ(prover.eliminations(), 0);
  EXPECT_LE(prover.steps(), 6);
}

TEST(Expr, ConstantsAndSymbolsShareTheirNodes) {
  EXPECT_EQ(&Expr(5).node(), &Expr(5).node());
  Expr n = Expr::symbol(0);
  EXPECT_EQ(&(n + 0).node(), &n.node());
  EXPECT_EQ(&(n * 1).node(), &n.node());
  EXPECT_EQ(&n.substitute(1, Expr(3)).node(), &n.node());
}

}  // namespace
}  // namespace ferrule
