#include "call/overlap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>
#include <vector>

namespace ferrule {
namespace {

struct View {
  int64_t offset;
  int64_t item;
  std::vector<int64_t> shape, strides;

  Strided on(const char* base) const {
    return {base + offset, item, static_cast<int>(shape.size()), shape.data(), strides.data()};
  }
  // Every byte, by walking all elements.
  std::multiset<int64_t> bytes() const {
    std::multiset<int64_t> all;
    std::vector<int64_t> index(shape.size(), 0);
    for (const int64_t extent : shape)
      if (extent == 0) return all;
    for (;;) {
      int64_t at = offset;
      for (size_t k = 0; k < shape.size(); ++k) at += index[k] * strides[k];
      for (int64_t b = 0; b < item; ++b) all.insert(at + b);
      size_t k = 0;
      while (k < shape.size() && ++index[k] == shape[k]) index[k++] = 0;
      if (k == shape.size()) return all;
    }
  }
};

bool truly_share(const View& a, const View& b) {
  const auto left = a.bytes();
  for (const int64_t byte : b.bytes())
    if (left.contains(byte)) return true;
  return false;
}

alignas(64) char memory[4096];
const char* const base = memory + 2048;

bool share(const View& a, const View& b) {
  const Strided x = a.on(base), y = b.on(base);
  return ranges_meet(range_of(x), range_of(y)) && may_share_bytes(x, y);
}

TEST(Overlap, EvenAndOddElementsAreDisjoint) {
  EXPECT_FALSE(share({0, 8, {5}, {16}}, {8, 8, {5}, {16}}));
  EXPECT_TRUE(share({0, 8, {5}, {16}}, {16, 8, {5}, {16}}));
  EXPECT_FALSE(share({72, 8, {5}, {-16}}, {0, 8, {5}, {16}}));
}

TEST(Overlap, BlocksOfColumnsAreDisjoint) {
  EXPECT_FALSE(share({0, 8, {4, 3}, {48, 8}}, {24, 8, {4, 3}, {48, 8}}));
  EXPECT_TRUE(share({0, 8, {4, 4}, {48, 8}}, {24, 8, {4, 3}, {48, 8}}));
  EXPECT_FALSE(share({0, 8, {4}, {48}}, {8, 8, {4, 5}, {48, 8}}));
}

TEST(Overlap, ShiftedBlocksShare) { EXPECT_TRUE(share({0, 8, {3, 3}, {40, 8}}, {48, 8, {3, 3}, {40, 8}})); }

TEST(Overlap, NoElementsMeetNothing) {
  EXPECT_FALSE(share({0, 8, {0}, {8}}, {0, 8, {5}, {8}}));
  EXPECT_FALSE(share({16, 8, {3, 0}, {8, 8}}, {0, 8, {5}, {8}}));
}

TEST(Overlap, IdenticalLooksAtAxesLongerThanOne) {
  const View a{0, 8, {1, 4}, {999, 8}}, b{0, 8, {1, 4}, {32, 8}}, c{0, 8, {1, 4}, {32, 16}};
  EXPECT_TRUE(identical(a.on(base), b.on(base)));
  EXPECT_FALSE(identical(a.on(base), c.on(base)));
}

TEST(Overlap, DenseRangesAgreeWithTheGeneralOnes) {
  for (const View& v : {View{0, 8, {}, {}}, View{8, 4, {5}, {4}}, View{0, 8, {2, 3}, {24, 8}},
                        View{0, 2, {2, 3}, {2, 4}}, View{0, 8, {2, 0}, {8, 8}}}) {
    const Range general = range_of(v.on(base));
    const Range dense = dense_range(base + v.offset, v.item, static_cast<int>(v.shape.size()), v.shape.data());
    EXPECT_EQ(dense.low, general.low);
    EXPECT_EQ(dense.high, general.high);
  }
}

TEST(Overlap, ElementsOfOneArray) {
  EXPECT_TRUE(may_overlap_itself(View{0, 8, {3}, {0}}.on(base)));
  EXPECT_FALSE(may_overlap_itself(View{0, 8, {1}, {0}}.on(base)));
  EXPECT_TRUE(may_overlap_itself(View{0, 8, {3, 4}, {8, 8}}.on(base)));
  EXPECT_FALSE(may_overlap_itself(View{0, 8, {3, 4}, {-32, 8}}.on(base)));
  EXPECT_FALSE(may_overlap_itself(View{0, 8, {0, 4}, {0, 0}}.on(base)));
}

// Against walking all bytes: never "disjoint" where a byte is shared, and exact for small arrays.
TEST(Overlap, AgreesWithWalkingAllElements) {
  std::mt19937 random(20261129);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int shared = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto view = [&] {
      View v{pick(-60, 60), int64_t{1} << pick(0, 3), {}, {}};
      for (int64_t rank = pick(0, 3); rank > 0; --rank) {
        v.shape.push_back(pick(0, 4));
        v.strides.push_back(pick(-6, 6) * v.item);
      }
      return v;
    };
    const View a = view(), b = view();
    ASSERT_EQ(share(a, b), truly_share(a, b)) << "round " << round;
    shared += truly_share(a, b);
    const auto bytes = a.bytes();
    const bool twice = std::set<int64_t>(bytes.begin(), bytes.end()).size() != bytes.size();
    if (twice) {
      ASSERT_TRUE(may_overlap_itself(a.on(base))) << "round " << round;
    }
  }
  EXPECT_GT(shared, 300);
}

}  // namespace
}  // namespace ferrule
