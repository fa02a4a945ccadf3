// The exact functors on the values where arithmetic breaks: extremes, zeros, divisors of zero, shifts past the width.
// Run under UBSan these also show that nothing is undefined. NumPy's values on whole grids are compared in
// tests/python/test_rt_ops.py.
#include "ferrule/rt/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ferrule/rt/power.h"

namespace {

template <class T>
class SignedOps : public testing::Test {};
using SignedTypes = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(SignedOps, SignedTypes);

TYPED_TEST(SignedOps, LowestByMinusOneWraps) {
  using T = TypeParam;
  const T low = std::numeric_limits<T>::min(), minus = -1;
  EXPECT_EQ(fr::floor_divide(low, minus), low);
  EXPECT_EQ(fr::remainder(low, minus), T(0));
  EXPECT_EQ(fr::fmod(low, minus), T(0));
  EXPECT_EQ(fr::negative(low), low);
  EXPECT_EQ(fr::absolute(low), low);
  EXPECT_EQ(fr::multiply(low, minus), low);
  EXPECT_EQ(fr::subtract(low, T(1)), std::numeric_limits<T>::max());
  EXPECT_EQ(fr::add(std::numeric_limits<T>::max(), T(1)), low);
  EXPECT_EQ(fr::gcd(low, low), low);
  EXPECT_EQ(fr::lcm(low, T(3)), low);
}

TYPED_TEST(SignedOps, DivisionFloors) {
  using T = TypeParam;
  const T x[] = {7, -7, 7, -7}, y[] = {2, 2, -2, -2};
  const T quotient[] = {3, -4, -4, 3}, floored[] = {1, 1, -1, -1}, truncated[] = {1, -1, 1, -1};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(fr::floor_divide(x[i], y[i]), quotient[i]);
    EXPECT_EQ(fr::remainder(x[i], y[i]), floored[i]);
    EXPECT_EQ(fr::fmod(x[i], y[i]), truncated[i]);
  }
  for (T v : {T(1), T(-1), T(0), std::numeric_limits<T>::min()}) {
    EXPECT_EQ(fr::floor_divide(v, T(0)), T(0));
    EXPECT_EQ(fr::remainder(v, T(0)), T(0));
    EXPECT_EQ(fr::fmod(v, T(0)), T(0));
  }
}

TYPED_TEST(SignedOps, ShiftsPastTheWidth) {
  using T = TypeParam;
  constexpr int bits = sizeof(T) * 8;
  EXPECT_EQ(fr::left_shift(T(1), T(bits - 1)), std::numeric_limits<T>::min());
  for (int k : {bits, bits + 1, 100, -1}) {
    EXPECT_EQ(fr::left_shift(T(1), T(k)), T(0)) << k;
    EXPECT_EQ(fr::right_shift(T(-5), T(k)), T(-1)) << k;
    EXPECT_EQ(fr::right_shift(T(5), T(k)), T(0)) << k;
  }
  EXPECT_EQ(fr::right_shift(T(-5), T(1)), T(-3));
}

TYPED_TEST(SignedOps, SmallQuotientsAreExact) {
  using T = TypeParam;
  const T high = std::numeric_limits<T>::max();
  for (T x : {high, T(high - 1), T(-high), std::numeric_limits<T>::min(), T(100), T(-100)}) {
    for (T y : {T(1), T(3), T(-3), T(7), high, T(-high)}) {
      EXPECT_EQ(fr::fmod(x, y), T(x % y)) << +x << " % " << +y;
      EXPECT_EQ(fr::add(fr::multiply(fr::floor_divide(x, y), y), fr::remainder(x, y)), x) << +x << " // " << +y;
    }
  }
}

TEST(Ops, UnsignedArithmeticWraps) {
  EXPECT_EQ(fr::multiply<uint16_t>(65535, 65535), 1);
  EXPECT_EQ(fr::negative<uint8_t>(200), 56);
  EXPECT_EQ(fr::floor_divide<uint64_t>(UINT64_MAX, 3), UINT64_MAX / 3);
  EXPECT_EQ(fr::floor_divide<uint32_t>(UINT32_MAX, 1), UINT32_MAX);
  EXPECT_EQ(fr::right_shift<uint32_t>(UINT32_MAX, 32), 0u);
  EXPECT_EQ(fr::lcm<uint8_t>(200, 3), uint8_t(600));
}

TEST(Ops, IntegerPower) {
  EXPECT_EQ(fr::power<int8_t>(2, 7), -128);
  EXPECT_EQ(fr::power<int8_t>(3, 5), -13);
  EXPECT_EQ(fr::power<int64_t>(3, 41), -420491770248316829);
  EXPECT_EQ(fr::power<int64_t>(0, 0), 1);
  EXPECT_EQ(fr::power<uint16_t>(65535, 3), 65535);
  EXPECT_EQ(fr::power<int32_t>(2, -1), 0);
}

TEST(Ops, ComparisonsAcrossSignedness) {
  const int64_t minus = -1, top = INT64_MAX;
  const uint64_t zero = 0, above = uint64_t(INT64_MAX) + 1, ones = UINT64_MAX;
  EXPECT_TRUE(fr::less(minus, zero));
  EXPECT_TRUE(fr::greater(above, top));
  EXPECT_FALSE(fr::equal(minus, ones));
  EXPECT_TRUE(fr::not_equal(ones, minus));
  EXPECT_FALSE(fr::less_equal(ones, minus));
  EXPECT_TRUE(fr::greater_equal(zero, minus));
  EXPECT_TRUE(fr::equal(top, uint64_t(INT64_MAX)));
}

TEST(Ops, FloatDivisionNearWholeNumbers) {
  const double x[] = {1.0, 0.5, 6.0, -1.0, 1.0, 7.5, -7.5}, y[] = {0.1, 0.1, 0.2, 0.1, -0.1, 2, 2};
  const double quotient[] = {9, 4, 29, -10, -10, 3, -4};
  const double rest[] = {0.09999999999999995,
                         0.09999999999999998,
                         0.19999999999999968,
                         5.551115123125783e-17,
                         -5.551115123125783e-17,
                         1.5,
                         0.5};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(fr::floor_divide(x[i], y[i]), quotient[i]);
    EXPECT_EQ(fr::remainder(x[i], y[i]), rest[i]);
  }
  EXPECT_EQ(fr::fmod(1e20, 3.0), 1.0);
  EXPECT_EQ(fr::fmod(1e20f, 3.0f), 2.0f);
  EXPECT_EQ(fr::remainder(1e20, 3.0), 1.0);
  EXPECT_EQ(fr::remainder(-1e20, 3.0), 2.0);
  EXPECT_EQ(fr::fmod(1e308, 5e-324), std::fmod(1e308, 5e-324));
}

TEST(Ops, FloatDivisionOfInfinitiesAndZeros) {
  const double inf = INFINITY;
  EXPECT_EQ(fr::floor_divide(1.0, 0.0), inf);
  EXPECT_EQ(fr::floor_divide(-1.0, 0.0), -inf);
  EXPECT_TRUE(std::isnan(fr::floor_divide(0.0, 0.0)));
  EXPECT_TRUE(std::isnan(fr::floor_divide(inf, 2.0)));
  EXPECT_EQ(fr::floor_divide(-1.0, inf), -1.0);
  EXPECT_EQ(fr::remainder(-1.0, inf), inf);
  EXPECT_EQ(fr::remainder(1.0, -inf), -inf);
  EXPECT_EQ(fr::remainder(1.0, inf), 1.0);
  EXPECT_FALSE(std::signbit(fr::remainder(-0.0, 3.0)));
  EXPECT_TRUE(std::signbit(fr::remainder(6.0, -3.0)));
  EXPECT_TRUE(std::signbit(fr::fmod(-6.0, 3.0)));
}

TEST(Ops, ExtremesAndNan) {
  const double nan = NAN;
  EXPECT_TRUE(std::isnan(fr::maximum(nan, 1.0)));
  EXPECT_TRUE(std::isnan(fr::minimum(1.0, nan)));
  EXPECT_EQ(fr::fmax(nan, 1.0), 1.0);
  EXPECT_EQ(fr::fmin(1.0, nan), 1.0);
  EXPECT_EQ(fr::clip(3.0, 2.0, 1.0), 1.0);
  EXPECT_TRUE(std::isnan(fr::clip(0.5, nan, 1.0)));
  EXPECT_TRUE(std::isnan(fr::clip(0.5, 0.0, nan)));
  EXPECT_TRUE(std::isnan(fr::clip(nan, 0.0, 1.0)));
}

TEST(Ops, PartsOfAFloat) {
  EXPECT_EQ(fr::ldexp(1.0, -1074), 5e-324);
  EXPECT_EQ(fr::ldexp(0x1.8p0, -1075), 5e-324);
  EXPECT_EQ(fr::ldexp(0x1p-1074, 2097), 0x1p1023);
  EXPECT_EQ(fr::ldexp(1.0, INT64_MAX), INFINITY);
  EXPECT_EQ(fr::ldexp(1.0, INT32_MIN), 0.0);
  for (double x : {0x1.1234567p-1000, 0x1.fffffffffffffp0, -0x1.123456789p-3}) {
    for (int k = -1100; k < 1100; ++k) EXPECT_EQ(fr::ldexp(x, k), std::ldexp(x, k)) << x << ' ' << k;
  }
  EXPECT_EQ(fr::frexp_mantissa(5e-324), 0.5);
  EXPECT_EQ(fr::frexp_exponent(5e-324), -1073);
  EXPECT_TRUE(std::signbit(fr::modf_fraction(-3.0)));
  EXPECT_EQ(fr::nextafter(0.0, -1.0), -5e-324);
  EXPECT_EQ(fr::nextafter(std::numeric_limits<float>::max(), INFINITY), INFINITY);
}

TEST(Cast, FloatToIntegerHasOneValueEverywhere) {
  for (double x : {double(NAN), double(INFINITY), -double(INFINITY), 3e9, -3e9}) {
    EXPECT_EQ(fr::cast<int32_t>(x), INT32_MIN);
    EXPECT_EQ(fr::cast<int32_t>(float(x)), INT32_MIN);
    EXPECT_EQ(fr::cast<int8_t>(x), 0);
  }
  EXPECT_EQ(fr::cast<int64_t>(1e19), INT64_MIN);
  EXPECT_EQ(fr::cast<uint64_t>(1e19), 10000000000000000000u);
  EXPECT_EQ(fr::cast<uint64_t>(-1.0), UINT64_MAX);
  EXPECT_EQ(fr::cast<uint32_t>(3e9), 3000000000u);
  EXPECT_EQ(fr::cast<uint8_t>(-1.5), 255);
  EXPECT_EQ(fr::cast<uint8_t>(300.0f), 44);
  EXPECT_EQ(fr::cast<int32_t>(-2147483648.9), INT32_MIN);
  EXPECT_EQ(fr::cast<int32_t>(2147483647.9), INT32_MAX);
}

TEST(Cast, ToBoolAndFromWideIntegers) {
  EXPECT_TRUE(fr::cast<bool>(NAN));
  EXPECT_TRUE(fr::cast<bool>(5e-324));
  EXPECT_TRUE(fr::cast<bool>(256));
  EXPECT_FALSE(fr::cast<bool>(-0.0));
  for (uint64_t x :
       {uint64_t(0), uint64_t(1), (uint64_t(1) << 53) + 1, (uint64_t(1) << 63) + 1025, UINT64_MAX, UINT64_MAX - 1024}) {
    EXPECT_EQ(fr::cast<double>(x), double(x)) << x;
    EXPECT_EQ(fr::cast<double>(int64_t(x)), double(int64_t(x))) << int64_t(x);
    EXPECT_EQ(fr::cast<float>(x), float(x)) << x;
  }
}

TEST(Index, FlooredAndTotal) {
  EXPECT_EQ(fr_floordiv(-7, 2), -4);
  EXPECT_EQ(fr_mod(-7, 2), 1);
  EXPECT_EQ(fr_mod(7, -2), -1);
  EXPECT_EQ(fr_floordiv(5, 0), 0);
  EXPECT_EQ(fr_mod(5, 0), 0);
  EXPECT_EQ(fr_floordiv(INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(fr_mod(INT64_MIN, -1), 0);
  EXPECT_EQ(fr_min(3, -4), -4);
  EXPECT_EQ(fr_max(3, -4), 3);
  EXPECT_EQ(fr_ipow(-3, 3), -27);
  EXPECT_EQ(fr_ipow(2, 64), 0);
  EXPECT_EQ(fr_ipow(2, -1), 0);
}

}  // namespace
