#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace ferrule {
namespace {

TEST(Half, EveryFloat16IsItself) {
  for (int bits = 0; bits < 65536; ++bits) {
    const double value = from_float16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(to_float16(value), bits);
  }
}

TEST(Half, EveryBfloat16IsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = static_cast<double>(std::bit_cast<float>(bits << 16));
    if (std::isnan(value)) continue;
    EXPECT_EQ(from_bfloat16(static_cast<uint16_t>(bits)), value);
    EXPECT_EQ(to_bfloat16(value), bits);
  }
}

// Between two neighbours the nearer one is taken, halfway the even one, and only the value itself decides.
TEST(Half, RoundsOnceToNearest) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = from_float16(static_cast<uint16_t>(bits)), high = from_float16(static_cast<uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    EXPECT_EQ(to_float16(middle), bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(to_float16(std::nextafter(middle, 0.0)), bits);
    EXPECT_EQ(to_float16(std::nextafter(middle, 1e9)), bits + 1);
  }
}

TEST(Half, BeyondTheRangeLiesInfinity) {
  EXPECT_EQ(to_float16(65519.999), 0x7bff);
  EXPECT_EQ(to_float16(65520.0), 0x7c00);
  EXPECT_EQ(to_float16(-1e300), 0xfc00);
  EXPECT_EQ(to_bfloat16(3.4e38), 0x7f80);
  EXPECT_TRUE(std::isnan(from_float16(to_float16(NAN))));
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(-NAN))));
  EXPECT_EQ(to_float16(-0.0), 0x8000);
  EXPECT_EQ(to_float16(5e-324), 0);
}

}  // namespace
}  // namespace ferrule
