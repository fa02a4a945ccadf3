#include "index/range.h"

#include <gtest/gtest.h>

#include <limits>

namespace ferrule {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// N, M extents; s, t scalars of any sign; c a scalar that is not negative; i a loop variable; p opaque.
class RangeTest : public testing::Test {
 protected:
  RangeTest() : facts_(&symbols_) {
    for (const char* name : {"N", "M"}) symbols_.add(name, SymbolKind::Extent, true);
    for (const char* name : {"s", "t"}) symbols_.add(name, SymbolKind::Scalar, false);
    symbols_.add("c", SymbolKind::Scalar, true);
    symbols_.add("i", SymbolKind::Loop, false);
    symbols_.add("p", SymbolKind::Opaque, false);
  }

  Expr parse(std::string_view text) const {
    return parse_expr(text, [&](std::string_view name) { return symbols_.find(name); });
  }
  bool fits(std::string_view text) const { return fits(parse(text)); }
  bool fits(const Expr& expr) const {
    const Int64Fit fit = fit_int64(expr, facts_, symbols_);
    return fit.low && fit.high;
  }

  Symbols symbols_;
  Facts facts_;
};

TEST_F(RangeTest, ConstantsAndSymbolsFit) {
  EXPECT_TRUE(fits(Expr(kLargest)));
  EXPECT_TRUE(fits("s"));
  EXPECT_TRUE(fits("-c"));
  EXPECT_FALSE(fits("-s"));
}

TEST_F(RangeTest, SumsOfExtentsFitAndProductsDoNot) {
  EXPECT_TRUE(fits("1000*N + 3*M - 7"));
  EXPECT_FALSE(fits("N*M"));
  EXPECT_FALSE(fits("N*N*N*N"));
}

TEST_F(RangeTest, ScalarsLeaveByOne) {
  const Int64Fit above = fit_int64(parse("s + 1"), facts_, symbols_);
  EXPECT_TRUE(above.low);
  EXPECT_FALSE(above.high);
  const Int64Fit below = fit_int64(parse("s - 1"), facts_, symbols_);
  EXPECT_FALSE(below.low);
  EXPECT_TRUE(below.high);
  EXPECT_TRUE(fits("c - 1"));
  EXPECT_FALSE(fits("c + 1"));
  EXPECT_FALSE(fits("s - t"));
  EXPECT_FALSE(fits("2*p"));
}

TEST_F(RangeTest, DivisionsAndExtremes) {
  EXPECT_FALSE(fits("s // t"));
  EXPECT_TRUE(fits("s // 2"));
  EXPECT_TRUE(fits("s // max(c, 1)"));
  EXPECT_TRUE(fits("s % t"));
  EXPECT_TRUE(fits("min(s, 5) * 0 + max(min(s, 100), -100) * 1000000000"));
  EXPECT_FALSE(fits("max(s, 0) + 1"));
}

TEST_F(RangeTest, PowersLeaveQuickly) {
  EXPECT_TRUE(fits("1**c + N"));
  EXPECT_FALSE(fits("N**2"));
  EXPECT_FALSE(fits("2**s"));
}

TEST_F(RangeTest, LoopVariablesCountWithTheirBounds) {
  EXPECT_FALSE(fits("i + 1"));
  facts_.push();
  facts_.assume_loop(*symbols_.find("i"), Expr(0), parse("s"));
  EXPECT_TRUE(fits("i + 1"));
  EXPECT_TRUE(fits("i - 1"));
  EXPECT_FALSE(fits("i + 2"));
  facts_.pop();
  EXPECT_FALSE(fits("i + 1"));
}

TEST_F(RangeTest, DifferencesOfLargeProductsDoNotFit) {
  EXPECT_FALSE(fits("9223372036854775807*s*t - 9223372036854775807*s*p"));
}

}  // namespace
}  // namespace ferrule
