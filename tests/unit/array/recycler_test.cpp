#include "array/recycler.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace ferrule {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(Recycler, GivesABlockAgain) {
  Recycler recycler(64 * kMegabyte);
  void* first = recycler.take(kMegabyte);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(recycler.bytes_of(first), kMegabyte);
  EXPECT_EQ(recycler.kept_bytes(), 0u);
  EXPECT_TRUE(recycler.give_back(first));
  EXPECT_EQ(recycler.kept_bytes(), kMegabyte);
  EXPECT_EQ(recycler.take(kMegabyte - 100), first);
  void* second = recycler.take(kMegabyte);
  EXPECT_NE(second, first);
  EXPECT_TRUE(recycler.give_back(first));
  EXPECT_TRUE(recycler.give_back(second));
}

TEST(Recycler, NeverHandsOutAMuchLargerBlock) {
  Recycler recycler(64 * kMegabyte);
  void* large = recycler.take(8 * kMegabyte);
  recycler.give_back(large);
  void* small = recycler.take(kMegabyte);
  EXPECT_NE(small, large);
  EXPECT_EQ(recycler.kept_bytes(), 8 * kMegabyte);
  recycler.give_back(small);
}

TEST(Recycler, KeepsNoMoreThanItMay) {
  Recycler recycler(3 * kMegabyte);
  std::vector<void*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(recycler.take(kMegabyte));
  for (void* block : blocks) recycler.give_back(block);
  EXPECT_EQ(recycler.kept_bytes(), 3 * kMegabyte);
  EXPECT_EQ(recycler.take(kMegabyte), blocks[4]);  // the last one is likely to be in the cache
  recycler.limit(kMegabyte);
  EXPECT_EQ(recycler.kept_bytes(), kMegabyte);
  recycler.give_back(blocks[4]);
  recycler.limit(0);
  EXPECT_EQ(recycler.kept_bytes(), 0u);
}

TEST(Recycler, LeavesForeignMemoryAlone) {
  Recycler recycler(kMegabyte);
  int own = 0;
  EXPECT_FALSE(recycler.give_back(&own));
  void* block = recycler.take(kMegabyte);
  EXPECT_TRUE(recycler.give_back(block));
  EXPECT_FALSE(recycler.give_back(block));
  EXPECT_EQ(recycler.bytes_of(block), 0u);
  EXPECT_EQ(recycler.take(SIZE_MAX), nullptr);
}

TEST(Recycler, SeveralThreads) {
  Recycler recycler(16 * kMegabyte);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&recycler, t] {
      for (int i = 0; i < 300; ++i) {
        auto* block = static_cast<int*>(recycler.take(kMegabyte / 4 * static_cast<size_t>(1 + i % 3)));
        block[0] = t;
        block[kMegabyte / 64] = i;
        ASSERT_EQ(block[0], t);
        ASSERT_EQ(block[kMegabyte / 64], i);
        recycler.give_back(block);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(recycler.kept_bytes(), 16 * kMegabyte);
}

}  // namespace
}  // namespace ferrule
