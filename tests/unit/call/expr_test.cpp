#include "call/expr.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "base/error.h"

namespace ferrule {
namespace {

// A module with symbols N, M and a float64 scalar argument x.
struct Fixture {
  Fixture() {
    symbols[0] = {.size = sizeof(FrSymbol), .name = "N"};
    symbols[1] = {.size = sizeof(FrSymbol), .name = "M"};
    arg = {.size = sizeof(FrArg), .name = "x", .kind = FR_ARG_SCALAR, .dtype = FR_F64};
    module.name = "m";
    module.n_symbols = 2;
    module.symbols = symbols;
    module.n_args = 1;
    module.args = &arg;
  }
  FrSymbol symbols[2]{};
  FrArg arg{};
  FrModule module{};
};

using Code = std::vector<int64_t>;

Evaluated evaluate(const Code& code, int64_t n, int64_t m, double x = 0) {
  const Fixture fixture;
  const int64_t symbols[] = {n, m};
  void* args[] = {&x};
  return PostfixExpr::make({code.data(), static_cast<uint32_t>(code.size())}, fixture.module).eval(symbols, args);
}

Code binary(int64_t op) { return {FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, op}; }

PostfixExpr make(const Code& code) {
  static const Fixture fixture;
  return PostfixExpr::make({code.data(), static_cast<uint32_t>(code.size())}, fixture.module);
}

TEST(PostfixExpr, TellsItsSymbols) {
  const PostfixExpr product = make({FR_X_SYMBOL, 1, FR_X_SYMBOL, 0, FR_X_MUL, FR_X_SYMBOL, 1, FR_X_ADD});
  EXPECT_EQ(product.symbols(), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(make(binary(FR_X_EQ)).equal_symbols(), std::pair(0, 1));
  EXPECT_EQ(make(binary(FR_X_LE)).equal_symbols(), std::pair(-1, -1));
}

TEST(PostfixExpr, ComparesASymbolWithAConstant) {
  for (const int64_t n : {1, 2, 3}) {
    EXPECT_EQ(evaluate({FR_X_CONST, 2, FR_X_SYMBOL, 0, FR_X_LE}, n, 0).value, 2 <= n);
    EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 2, FR_X_LE}, n, 0).value, n <= 2);
    EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 2, FR_X_EQ}, n, 0).value, n == 2);
    EXPECT_EQ(evaluate({FR_X_CONST, 2, FR_X_SYMBOL, 0, FR_X_EQ}, n, 0).value, 2 == n);
  }
}

TEST(PostfixExpr, BoundsItsValue) {
  EXPECT_EQ(make({FR_X_CONST, -3}).most(9), -3);
  EXPECT_EQ(make(binary(FR_X_MUL)).most(9), 81);
  EXPECT_EQ(make(binary(FR_X_SUB)).most(9), 9);
  EXPECT_EQ(make({FR_X_SYMBOL, 0, FR_X_CONST, -4, FR_X_MUL}).most(9), 0);
  EXPECT_EQ(make({FR_X_SYMBOL, 0, FR_X_CONST, 2, FR_X_FLOORDIV}).most(9), 4);
  EXPECT_EQ(make(binary(FR_X_FLOORDIV)).most(9), std::nullopt);
  EXPECT_EQ(make({FR_X_SYMBOL, 0, FR_X_NEG}).most(9), std::nullopt);
  EXPECT_EQ(make(binary(FR_X_MUL)).most(INT64_MAX), std::nullopt);
  // (n - 5) * (m - 3) * -2 + max(n, 4): products of negative factors too.
  const Code signs = {FR_X_SYMBOL, 0, FR_X_CONST, 5,        FR_X_SUB,   FR_X_SYMBOL, 1,
                      FR_X_CONST,  3, FR_X_SUB,   FR_X_MUL, FR_X_CONST, -2,          FR_X_MUL,
                      FR_X_SYMBOL, 0, FR_X_CONST, 4,        FR_X_MAX,   FR_X_ADD};
  for (int64_t largest = 0; largest < 9; ++largest)
    for (int64_t n = 0; n <= largest; ++n)
      for (int64_t m = 0; m <= largest; ++m) EXPECT_LE(evaluate(signs, n, m).value, make(signs).most(largest).value());
}

TEST(PostfixExpr, IntegerOperatorsAgreeWithPython) {
  const struct {
    int64_t op, n, m, expected;
  } cases[] = {
      {FR_X_ADD, 7, -3, 4},       {FR_X_SUB, 7, -3, 10},      {FR_X_MUL, 7, -3, -21},   {FR_X_FLOORDIV, 7, 2, 3},
      {FR_X_FLOORDIV, -7, 2, -4}, {FR_X_FLOORDIV, 7, -2, -4}, {FR_X_FLOORDIV, 7, 0, 0}, {FR_X_MOD, 7, 3, 1},
      {FR_X_MOD, -7, 3, 2},       {FR_X_MOD, 7, -3, -2},      {FR_X_MOD, 7, 0, 0},      {FR_X_MOD, INT64_MIN, -1, 0},
      {FR_X_MIN, 7, -3, -3},      {FR_X_MAX, 7, -3, 7},       {FR_X_EQ, 7, 7, 1},       {FR_X_NE, 7, 7, 0},
      {FR_X_LT, 6, 7, 1},         {FR_X_LE, 7, 7, 1},         {FR_X_AND, 2, 0, 0},      {FR_X_OR, 2, 0, 1},
      {FR_X_POW, 3, 4, 81},       {FR_X_POW, -2, 3, -8},      {FR_X_POW, 2, -1, 0},     {FR_X_POW, 0, 0, 1},
  };
  for (const auto& c : cases) {
    const Evaluated got = evaluate(binary(c.op), c.n, c.m);
    EXPECT_EQ(got.value, c.expected) << "op " << c.op << " of " << c.n << ", " << c.m;
    EXPECT_FALSE(got.overflow) << "op " << c.op;
  }
  EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_NEG}, 5, 0).value, -5);
  EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_NOT}, 5, 0).value, 0);
  EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 8, FR_X_CONST, 9, FR_X_SELECT}, 1, 0).value, 8);
  EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 8, FR_X_CONST, 9, FR_X_SELECT}, 0, 0).value, 9);
}

TEST(PostfixExpr, TellsOverflow) {
  EXPECT_TRUE(evaluate(binary(FR_X_ADD), INT64_MAX, 1).overflow);
  EXPECT_TRUE(evaluate(binary(FR_X_MUL), int64_t{1} << 32, int64_t{1} << 32).overflow);
  EXPECT_TRUE(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 4, FR_X_MUL}, INT64_MAX / 2, 0).overflow);
  EXPECT_TRUE(evaluate(binary(FR_X_POW), 10, 19).overflow);
  EXPECT_FALSE(evaluate(binary(FR_X_POW), 10, 18).overflow);
  EXPECT_TRUE(evaluate(binary(FR_X_FLOORDIV), INT64_MIN, -1).overflow);
  EXPECT_TRUE(evaluate({FR_X_SYMBOL, 0, FR_X_NEG}, INT64_MIN, 0).overflow);
}

TEST(PostfixExpr, FastFormsAgreeWithTheGeneralOne) {
  for (const int64_t n : {-2, 0, 3, 5}) {
    EXPECT_EQ(evaluate({FR_X_CONST, 9}, n, 0).value, 9);
    EXPECT_EQ(evaluate({FR_X_SYMBOL, 1}, 0, n).value, n);
    EXPECT_EQ(evaluate({FR_X_CONST, 3, FR_X_SYMBOL, 0, FR_X_MUL}, n, 0).value, 3 * n);
    EXPECT_EQ(evaluate({FR_X_CONST, 3, FR_X_SYMBOL, 0, FR_X_EQ}, n, 0).value, n == 3);
    EXPECT_EQ(evaluate({FR_X_SYMBOL, 0, FR_X_CONST, 3, FR_X_EQ}, n, 0).value, n == 3);
    EXPECT_EQ(evaluate(binary(FR_X_EQ), n, 3).value, n == 3);
  }
}

TEST(PostfixExpr, RealPredicatesReadScalarArguments) {
  const int64_t half = std::bit_cast<int64_t>(0.5);
  EXPECT_EQ(evaluate({FR_X_FARG, 0, FR_X_FCONST, half, FR_X_FLT}, 0, 0, 0.25).value, 1);
  EXPECT_EQ(evaluate({FR_X_FARG, 0, FR_X_FCONST, half, FR_X_FLE}, 0, 0, 0.5).value, 1);
  EXPECT_EQ(evaluate({FR_X_FARG, 0, FR_X_FCONST, half, FR_X_FEQ}, 0, 0, 0.75).value, 0);
  const Code sum = {FR_X_FARG, 0, FR_X_SYMBOL, 0, FR_X_FFROMI, FR_X_FADD, FR_X_FCONST, std::bit_cast<int64_t>(4.5),
                    FR_X_FEQ};
  EXPECT_EQ(evaluate(sum, 4, 0, 0.5).value, 1);
}

TEST(PostfixExpr, RefusesMalformedCode) {
  const Fixture fixture;
  const Code bad[] = {
      {FR_X_SYMBOL, 2}, {FR_X_SYMBOL, -1},     {FR_X_SYMBOL}, {FR_X_ADD}, {FR_X_CONST, 1, FR_X_CONST, 2}, {200},
      {FR_X_FARG, 1},   Code(200, FR_X_CONST),
  };
  for (const Code& code : bad) {
    try {
      PostfixExpr::make({code.data(), static_cast<uint32_t>(code.size())}, fixture.module);
      ADD_FAILURE() << "code of " << code.size() << " words beginning with " << code[0] << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    }
  }
}

TEST(PostfixExpr, PrintsAsAPersonWrites) {
  const Fixture fixture;
  const auto text = [&](const Code& code) {
    return text_of({code.data(), static_cast<uint32_t>(code.size())}, fixture.module);
  };
  EXPECT_EQ(text({FR_X_CONST, 2, FR_X_SYMBOL, 0, FR_X_MUL}), "2*N");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, FR_X_ADD, FR_X_CONST, 2, FR_X_MUL}), "2*(N + M)");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, FR_X_CONST, 1, FR_X_SUB, FR_X_SUB}), "N - (M - 1)");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, FR_X_MAX, FR_X_CONST, 2, FR_X_FLOORDIV}), "max(N, M)//2");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_NEG, FR_X_CONST, 2, FR_X_POW}), "(-N)**2");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_CONST, -1, FR_X_ADD}), "N - 1");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_CONST, -2, FR_X_SYMBOL, 1, FR_X_MUL, FR_X_ADD}), "N - 2*M");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, FR_X_NEG, FR_X_ADD}), "N - M");
  EXPECT_EQ(text({FR_X_CONST, -1, FR_X_SYMBOL, 0, FR_X_ADD}), "-1 + N");
  EXPECT_EQ(text({FR_X_SYMBOL, 0, FR_X_SYMBOL, 1, FR_X_NEG, FR_X_CONST, 2, FR_X_FLOORDIV, FR_X_ADD}), "N + -M//2");
  EXPECT_EQ(text({FR_X_FARG, 0, FR_X_FCONST, std::bit_cast<int64_t>(0.5), FR_X_FLT}), "x < 0.5");
}

}  // namespace
}  // namespace ferrule
