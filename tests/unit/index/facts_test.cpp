#include "index/facts.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ferrule {
namespace {

// N, M, K extents; s, t scalars of any sign; i, j, k loop variables; p opaque.
class FactsTest : public testing::Test {
 protected:
  FactsTest() : facts_(&symbols_) {
    for (const char* name : {"N", "M", "K"}) symbols_.add(name, SymbolKind::Extent, true);
    for (const char* name : {"s", "t"}) symbols_.add(name, SymbolKind::Scalar, false);
    for (const char* name : {"i", "j", "k"}) symbols_.add(name, SymbolKind::Loop, false);
    symbols_.add("p", SymbolKind::Opaque, false);
  }

  Expr parse(std::string_view text) const {
    return parse_expr(text, [&](std::string_view name) { return symbols_.find(name); });
  }

  // "a < b", with ==, !=, <, <=, >, >=.
  Condition condition(std::string_view text) const {
    struct Operator {
      const char* text;
      Relation relation;
      bool swap;
    };
    for (const Operator& op :
         {Operator{"==", Relation::Eq, false}, Operator{"!=", Relation::Ne, false}, Operator{"<=", Relation::Le, false},
          Operator{">=", Relation::Le, true}, Operator{"<", Relation::Lt, false}, Operator{">", Relation::Lt, true}}) {
      size_t at = text.find(op.text);
      if (at == std::string_view::npos) continue;
      Expr left = parse(text.substr(0, at));
      Expr right = parse(text.substr(at + std::string_view(op.text).size()));
      return op.swap ? Condition{op.relation, right, left} : Condition{op.relation, left, right};
    }
    throw std::invalid_argument("no relation in the condition");
  }

  void assume(std::string_view text) { facts_.assume(condition(text)); }
  void loop(std::string_view variable, std::string_view lo, std::string_view hi) {
    facts_.assume_loop(*symbols_.find(variable), parse(lo), parse(hi));
  }
  std::string show(const Expr& expr) const { return to_string(expr, symbols_.names()); }

  void expect_proved(std::string_view text) {
    EXPECT_EQ(facts_.prove(condition(text)), std::optional<bool>(true)) << text;
    EXPECT_EQ(facts_.prove(negate(condition(text))), std::optional<bool>(false)) << text;
  }
  void expect_unknown(std::string_view text) { EXPECT_EQ(facts_.prove(condition(text)), std::nullopt) << text; }

  Symbols symbols_;
  Facts facts_;
};

TEST_F(FactsTest, NamesAreUnique) {
  EXPECT_EQ(symbols_[symbols_.add("N", SymbolKind::Opaque, false)].name, "N_1");
  EXPECT_EQ(symbols_[symbols_.add("N", SymbolKind::Opaque, false)].name, "N_2");
  EXPECT_EQ(symbols_.find("N_1"), SymbolId{9});
}

TEST_F(FactsTest, ExtentsAreNotNegative) {
  expect_proved("N >= 0");
  expect_proved("N + M + 1 > 0");
  expect_proved("N*M >= 0");
  expect_proved("N//2 <= N");
  expect_proved("N % 3 < 3");
  expect_proved("N % 3 <= N");
  expect_proved("min(N, M) <= N");
  expect_proved("max(N, M) >= M");
  expect_proved("max(0, N - M) >= N - M");
  expect_unknown("N >= 1");
  expect_unknown("N == M");
  expect_unknown("s >= 0");
}

TEST_F(FactsTest, EqualitiesSubstitute) {
  assume("M == N");
  assume("K == M + 1");
  EXPECT_EQ(show(facts_.canonical(parse("K + M"))), "2*N + 1");
  EXPECT_TRUE(facts_.prove_equal(parse("K"), parse("N + 1")));
  expect_proved("K > N");
  expect_proved("K != N");
}

TEST_F(FactsTest, EqualitiesKeepWhatTheReplacedSymbolGuaranteed) {
  assume("K == N - 3");
  expect_proved("N >= 3");
}

TEST_F(FactsTest, OpaqueSymbolsGoFirst) {
  assume("p == N");
  EXPECT_EQ(show(facts_.canonical(parse("p"))), "N");
  facts_.push();
  loop("i", "0", "N");
  assume("i == 0");
  EXPECT_EQ(show(facts_.canonical(parse("i + N"))), "N");
  expect_proved("N >= 1");
  facts_.pop();
}

TEST_F(FactsTest, UnsolvableEqualities) {
  assume("N*M == K*s");
  expect_proved("N*M <= K*s + 1");
  expect_proved("N*M == K*s");
}

TEST_F(FactsTest, ScopesRestore) {
  facts_.push();
  assume("N == M");
  assume("K >= 4");
  assume("s != 0");
  loop("i", "0", "N");
  expect_proved("N == M");
  expect_proved("K > 3");
  expect_proved("s != 0");
  expect_proved("i < N");
  facts_.pop();
  expect_unknown("N == M");
  expect_unknown("K > 3");
  expect_unknown("s != 0");
  expect_unknown("i < N");
  EXPECT_THROW(facts_.pop(), Error);
}

TEST_F(FactsTest, InequalitiesCombine) {
  assume("N >= M");
  assume("M >= 2");
  expect_proved("N > 1");
  expect_proved("N + M >= 4");
  expect_proved("2*N + M > 5");
  expect_unknown("N >= 3");
}

TEST_F(FactsTest, IntegersRound) {
  expect_proved("(N + 1)//2 == N - N//2");
  expect_proved("2*N + 1 != 2*M");
  assume("2*N >= 5");
  expect_proved("N >= 3");
}

TEST_F(FactsTest, NotZero) {
  assume("N != 0");
  expect_proved("N >= 1");
  assume("s != t");
  expect_proved("s - t != 0");
}

TEST_F(FactsTest, LoopBounds) {
  loop("i", "1", "N - 1");
  loop("j", "i", "M");
  expect_proved("i >= 1");
  expect_proved("i + 1 < N");
  expect_proved("N >= 3");
  expect_proved("j - 1 >= 0");
  expect_proved("j < M");
  expect_proved("i < M");
  expect_unknown("j < N");
}

TEST_F(FactsTest, FlattenedIndices) {
  loop("i", "0", "N");
  loop("j", "0", "M");
  loop("k", "0", "K");
  expect_proved("i*M + j < N*M");
  expect_proved("(i*M + j)*K + k < N*M*K");
  expect_proved("i*M + j >= 0");
}

TEST_F(FactsTest, TilesAndHalves) {
  loop("i", "0", "N//4");
  loop("j", "0", "4");
  expect_proved("4*i + j < N");
  expect_proved("i <= N//2");
}

TEST_F(FactsTest, ExactDivision) {
  expect_unknown("s*(N//s) == N");
  assume("N % s == 0");
  expect_unknown("s*(N//s) == N");  // s may be 0
  assume("s >= 1");
  expect_proved("s*(N//s) == N");
  expect_proved("K*s*(N//s) == N*K");
  expect_proved("N//s >= 0");
  assume("(N*M) % (t - 3) == 0");
  expect_unknown("(t - 3)*((N*M)//(t - 3)) == N*M");
  assume("t < 3");
  expect_proved("(t - 3)*((N*M)//(t - 3)) == N*M");
}

TEST_F(FactsTest, EqualProductsInLargerOnes) {
  assume("N*M == 12");
  expect_proved("N*M*K == 12*K");
  expect_unknown("N*M*s == 12*N");
}

TEST_F(FactsTest, ClampedTiles) {
  loop("i", "0", "(N + 31)//32");
  loop("j", "32*i", "min(32*i + 32, N)");
  expect_proved("j < N");
  expect_proved("j >= 0");
  expect_proved("32*i < N");
}

TEST_F(FactsTest, ReverseAndTriangle) {
  loop("i", "0", "N");
  loop("j", "0", "i + 1");
  expect_proved("N - 1 - i >= 0");
  expect_proved("i - j >= 0");
  expect_proved("N - 1 - i + j < N");
  expect_proved("j < N");
}

TEST_F(FactsTest, MinAndMaxByCases) {
  expect_proved("N - min(N, M) == max(0, N - M)");
  expect_proved("min(N, M) + max(N, M) == N + M");
  expect_proved("max(min(s, N), 0) <= N");
  expect_proved("max(min(s, N), 0) >= 0");
  expect_proved("min(max(s, 0), N) - min(max(t, 0), N) <= N");
}

TEST_F(FactsTest, SimplifyDecides) {
  loop("i", "0", "N");
  EXPECT_EQ(show(facts_.simplify(parse("i % N"))), "i");
  EXPECT_EQ(show(facts_.simplify(parse("i // N"))), "0");
  EXPECT_EQ(show(facts_.simplify(parse("(N*M + i) // N"))), "M");
  EXPECT_EQ(show(facts_.simplify(parse("min(i, N)"))), "i");
  EXPECT_EQ(show(facts_.simplify(parse("max(i, 0)*M"))), "M*i");
  EXPECT_EQ(show(facts_.simplify(parse("min(s, N)"))), "min(N, s)");
  expect_proved("N*M // N == M");
  expect_unknown("N*M // M == N");
}

TEST_F(FactsTest, Powers) {
  assume("K >= 1");
  loop("i", "0", "N");
  expect_proved("K**i >= 1");
  expect_proved("K**i * K * K**(N - i - 1) == K**N");
  loop("j", "0", "K**i");
  expect_proved("j < K**i");
  expect_proved("j >= 0");
}

TEST_F(FactsTest, Bounds) {
  loop("i", "0", "N");
  loop("j", "i", "M");
  auto upper = [&](const char* text) {
    auto bound = facts_.upper_bound(parse(text));
    return bound ? show(*bound) : "none";
  };
  auto lower = [&](const char* text) {
    auto bound = facts_.lower_bound(parse(text));
    return bound ? show(*bound) : "none";
  };
  EXPECT_EQ(upper("i"), "N - 1");
  EXPECT_EQ(lower("i"), "0");
  EXPECT_EQ(upper("j - i"), "M - 1");
  EXPECT_EQ(lower("j - i"), "0");
  EXPECT_EQ(upper("K*i + j"), "N*K + M - K - 1");
  EXPECT_EQ(upper("s*i"), "none");
  EXPECT_EQ(upper("(i + 1)//2"), "N//2");
  EXPECT_EQ(upper("i % 4"), "3");
  EXPECT_EQ(lower("K*(i % 4) + 1"), "1");
  EXPECT_EQ(upper("min(i, K)"), "min(N, K + 1) - 1");
  EXPECT_EQ(upper("i*j"), "N*M - N - M + 1");
}

TEST_F(FactsTest, ContradictionsAreKept) {
  assume("N == M");
  assume("N == M + 1");
  expect_proved("N == M");
}

}  // namespace
}  // namespace ferrule
