#include "index/expr.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace ferrule {
namespace {

const std::vector<std::string> kNames = {"N", "M", "K", "R", "i", "j", "a.shape[0]"};

std::string name(SymbolId id) { return kNames.at(id); }

std::optional<SymbolId> lookup(std::string_view text) {
  for (SymbolId id = 0; id < kNames.size(); ++id) {
    if (kNames[id] == text) return id;
  }
  return std::nullopt;
}

Expr parse(std::string_view text) { return parse_expr(text, lookup); }
std::string show(const Expr& expr) { return to_string(expr, name); }

struct Case {
  const char* from;
  const char* to;
};

class Canonical : public testing::TestWithParam<Case> {};

TEST_P(Canonical, PrintsAs) {
  EXPECT_EQ(show(parse(GetParam().from)), GetParam().to);
  EXPECT_EQ(parse(GetParam().from), parse(GetParam().to));
  EXPECT_EQ(parse(GetParam().from).hash(), parse(GetParam().to).hash());
}

INSTANTIATE_TEST_SUITE_P(
    Expr, Canonical,
    testing::Values(
        Case{"N + M - N", "M"}, Case{"2*(N//2*1)", "2*(N//2)"}, Case{"2*N + M//2 - 1", "2*N + M//2 - 1"},
        Case{"(4*N + 2)//2", "2*N + 1"}, Case{"(N + 2*M)//2", "M + N//2"}, Case{"(4*N + 6)//8", "(N + 1)//2"},
        Case{"(-N)//2", "N//2 - N"}, Case{"N//1", "N"}, Case{"N//0", "0"}, Case{"N % 0", "0"}, Case{"N % 1", "0"},
        Case{"7 // -2", "-4"}, Case{"-7 % 3", "2"}, Case{"7 % -3", "-2"}, Case{"N//2//3", "N//6"},
        Case{"(N//2 + 1)//3", "(N + 2)//6"}, Case{"N % 2 + 2*(N//2)", "N"}, Case{"(N + 2*M) % 2", "N%2"},
        Case{"(N + 5) % 3 - 1", "(N + 2)%3 - 1"}, Case{"N % 6 % 3", "N%3"}, Case{"3*N % 6", "3*(N%2)"},
        Case{"(i + N - 1) % N", "(i - 1)%N"}, Case{"2*N // (2*M)", "N//M"}, Case{"-N // -M", "N//M"},
        Case{"min(N, N + 1)", "N"}, Case{"max(N, N + 1)", "N + 1"}, Case{"min(min(N, M), min(M, K))", "min(N, M, K)"},
        Case{"min(M, N)", "min(N, M)"}, Case{"min(N + 1, M + 1) - 1", "min(N, M)"},
        Case{"max(2*N, 2*M)", "2*max(N, M)"}, Case{"max(min(N, M), N)", "N"},
        Case{"min(max(N, M) + 2, N + 1)", "N + 1"}, Case{"N - M % 2", "N - M%2"}, Case{"K*(i % 2)", "K*(i%2)"},
        Case{"i % 2 * 3 + 1", "3*(i%2) + 1"}, Case{"(-2)**i", "(-1)**i*2**i"}, Case{"6**i", "2**i*3**i"},
        Case{"N*(M//3)*(N%K)", "N*(M//3)*(N%K)"}, Case{"-(N//2)", "-(N//2)"}, Case{"-N**2", "-N**2"},
        Case{"(N - 1)//K", "(N - 1)//K"}, Case{"N//K//M", "(N//K)//M"}, Case{"(N + 1)*(M - 2)", "N*M - 2*N + M - 2"},
        Case{"min(3, 5)", "3"}, Case{"max(3, 5)", "5"}, Case{"min(N, N)", "N"}, Case{"-max(-N, -M)", "-max(-N, -M)"},
        Case{"R**i * R * R**(K - i - 1)", "R**K"}, Case{"R**3 * R", "R**4"}, Case{"2**10", "1024"}, Case{"N**0", "1"},
        Case{"(N + 1)**2", "N**2 + 2*N + 1"}, Case{"2 * 2**i", "2**(i + 1)"}, Case{"2**i + 2**i", "2**(i + 1)"},
        Case{"2**(i + 1) + 3*2**i", "5*2**i"}, Case{"4**i", "2**(2*i)"}, Case{"(2*R)**i", "R**i*2**i"},
        Case{"(N*M)**K // 1", "N**K*M**K"}, Case{"-N + M", "M - N"}, Case{"5 - N", "5 - N"}, Case{"N*N*M", "N**2*M"},
        Case{"a.shape[0]*2 + 1", "2*a.shape[0] + 1"}, Case{"-9223372036854775808", "-9223372036854775808"}));

TEST(Expr, ConstantsAndSymbols) {
  EXPECT_EQ(Expr(7).constant(), 7);
  EXPECT_EQ(Expr::symbol(3).as_symbol(), SymbolId{3});
  EXPECT_FALSE((Expr::symbol(3) + 1).as_symbol());
  EXPECT_FALSE((2 * Expr::symbol(3)).as_symbol());
  EXPECT_EQ((parse("K*i + min(N, j//2)").symbols()), (std::vector<SymbolId>{0, 2, 4, 5}));
  EXPECT_TRUE(parse("K*i + min(N, j//2)").uses(5));
  EXPECT_FALSE(parse("K*i + min(N, j//2)").uses(1));
}

TEST(Expr, CppText) {
  auto cpp = [](const char* text) { return to_cpp(parse(text), name); };
  EXPECT_EQ(cpp("2*N - M//2 + 1"), "2*N - fr_floordiv(M, 2) + 1");
  EXPECT_EQ(cpp("min(N, M, K)"), "fr_min(fr_min(N, M), K)");
  EXPECT_EQ(cpp("(N + 1) % 4"), "fr_mod(N + 1, 4)");
  EXPECT_EQ(cpp("N**2*R**i"), "fr_ipow(N, 2)*fr_ipow(R, i)");
  EXPECT_EQ(cpp("max(-N, 3)"), "fr_max(-N, 3)");
  EXPECT_EQ(cpp("-9223372036854775808"), "(-9223372036854775807 - 1)");
  EXPECT_EQ(to_cpp(parse("N") + INT64_MIN, name), "N + (-9223372036854775807 - 1)");
  Expr least = parse("N*M + N") + parse("N") * INT64_MIN + INT64_MIN + 1;
  EXPECT_EQ(parse(show(least)), least);
  least = parse("N*M") + parse("N") * INT64_MIN + INT64_MIN;
  EXPECT_EQ(show(least), "N*M + -9223372036854775808*N + -9223372036854775808");
  EXPECT_EQ(parse(show(least)), least);
}

TEST(Expr, ParseErrors) {
  auto message = [](const char* text) -> std::string {
    try {
      parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::User);
      return error.what();
    }
    return "parsed";
  };
  EXPECT_EQ(message("N +"),
            "The size expression 'N +' has the end at column 4, where a number, a symbol, 'min', 'max' "
            "or '(' was expected.");
  EXPECT_EQ(message("N M"),
            "The size expression 'N M' has 'M' at column 3, where an operator or the end was expected.");
  EXPECT_EQ(message("min(N"), "The size expression 'min(N' has the end at column 6, where ')' was expected.");
  EXPECT_EQ(message("N*Q"), "The size expression 'N*Q' uses the unknown symbol 'Q'.");
  EXPECT_EQ(message("99999999999999999999"),
            "A size or index expression does not fit in 64 bits; use smaller sizes or steps.");
}

TEST(Expr, EvaluationNeedsAllValues) {
  try {
    parse("N + M").evaluate(std::vector<int64_t>{1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
  }
}

TEST(Expr, SplitIsForAffineExpressions) {
  auto parts = parse("2*i*N + i + M").split(4);
  ASSERT_TRUE(parts);
  EXPECT_EQ(show(parts->first), "2*N + 1");
  EXPECT_EQ(show(parts->second), "M");
  EXPECT_FALSE(parse("i*i").split(4));
  EXPECT_FALSE(parse("i//2 + i").split(4));
  EXPECT_FALSE(parse("R**i").split(4));
  EXPECT_TRUE(parse("N").split(4)->first.is_constant(0));
}

TEST(Expr, Products) {
  EXPECT_EQ(product({}), Expr(1));
  EXPECT_EQ(show(product(std::vector<Expr>{parse("N"), 2, parse("M")})), "2*N*M");
}

TEST(Condition, NegateEvaluatePrint) {
  std::vector<int64_t> values = {3, 5};
  for (Relation relation : {Relation::Eq, Relation::Ne, Relation::Lt, Relation::Le}) {
    Condition condition{relation, parse("N + 2"), parse("M")};
    EXPECT_NE(evaluate(condition, values), evaluate(negate(condition), values));
    EXPECT_EQ(negate(negate(condition)), condition);
  }
  EXPECT_EQ(to_string(Condition{Relation::Le, parse("N"), 3}, name), "N <= 3");
  EXPECT_EQ(to_string(negate(Condition{Relation::Le, parse("N"), 3}), name), "3 < N");
  EXPECT_EQ(to_postfix(Condition{Relation::Lt, parse("N"), 3}, [](SymbolId id) { return int64_t{id} + 40; }),
            (std::vector<int64_t>{1, 40, 0, 3, 12}));
}

}  // namespace
}  // namespace ferrule
