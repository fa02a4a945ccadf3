#include "index/fourier_motzkin.h"

#include <gtest/gtest.h>

#include <random>

namespace ferrule {
namespace {

TEST(FourierMotzkin, RefutesOnlyTheImpossible) {
  EXPECT_TRUE(refute({{{1}, -3}, {{-1}, 2}}, 1));   // x >= 3, x <= 2
  EXPECT_FALSE(refute({{{1}, -3}, {{-1}, 3}}, 1));  // x == 3
  EXPECT_TRUE(refute({{{2}, -1}, {{-2}, 1}}, 1));   // 2x == 1 has no integer solution
  EXPECT_TRUE(refute({{{1, -1}, 0}, {{0, 1}, -5}, {{-1, 0}, 4}}, 2));
  EXPECT_FALSE(refute({{{1, -1}, 0}, {{0, 1}, -5}}, 2));
  EXPECT_FALSE(refute({}, 3));
  EXPECT_TRUE(refute({{{0}, -1}}, 1));
}

TEST(FourierMotzkin, OverflowIsNoProof) { EXPECT_FALSE(refute({{{INT64_MAX, 3}, 0}, {{-(INT64_MAX - 2), -5}, 0}}, 2)); }

TEST(FourierMotzkin, NeverRefutesWhatHasASolution) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int64_t> coefficient(-5, 5), slack(0, 6), value(-20, 20);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> point = {value(random), value(random), value(random), value(random)};
    std::vector<LinearInequality> system;
    for (int row = 0; row < 12; ++row) {
      LinearInequality inequality{{}, slack(random)};
      for (int64_t x : point) {
        inequality.coefficients.push_back(coefficient(random));
        inequality.constant -= inequality.coefficients.back() * x;
      }
      system.push_back(inequality);
    }
    EXPECT_FALSE(refute(system, point.size()));
  }
}

}  // namespace
}  // namespace ferrule
