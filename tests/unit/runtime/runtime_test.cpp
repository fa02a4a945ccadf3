#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "base/dtype.h"
#include "runtime/arena.h"
#include "runtime/call_ctx.h"
#include "runtime/host.h"
#include "runtime/pool.h"
#include "runtime/threads.h"

namespace ferrule {
namespace {

struct Visits {
  explicit Visits(size_t n) : count(n) {}
  std::vector<std::atomic<int>> count;
  std::atomic<int> highest_worker{0};
};

int32_t visit(void* closure, int64_t lo, int64_t hi, int32_t worker) {
  auto* visits = static_cast<Visits*>(closure);
  for (int64_t i = lo; i < hi; ++i) visits->count[static_cast<size_t>(i)].fetch_add(1);
  int seen = visits->highest_worker.load();
  while (seen < worker && !visits->highest_worker.compare_exchange_weak(seen, worker)) {
  }
  return FR_OK;
}

TEST(ParallelFor, RunsEachIterationOnce) {
  for (const int64_t n : {0, 1, 7, 8, 9, 1000}) {
    for (const int threads : {1, 2, 4}) {
      Visits visits(static_cast<size_t>(n));
      EXPECT_EQ(parallel_for(n, 8, threads, visit, &visits), FR_OK);
      for (const auto& count : visits.count) EXPECT_EQ(count.load(), 1);
      EXPECT_LT(visits.highest_worker.load(), threads);
    }
  }
}

TEST(ParallelFor, ManyRegionsInTurn) {
  for (int round = 0; round < 500; ++round) {
    Visits visits(64);
    ASSERT_EQ(parallel_for(64, 4, 4, visit, &visits), FR_OK);
    for (const auto& count : visits.count) ASSERT_EQ(count.load(), 1);
  }
}

TEST(ParallelFor, ANestedRegionRunsInItsCaller) {
  std::atomic<int> inner{0};
  const auto outer = [](void* closure, int64_t lo, int64_t hi, int32_t) -> int32_t {
    const std::thread::id caller = std::this_thread::get_id();
    for (int64_t i = lo; i < hi; ++i) {
      std::pair<std::atomic<int>*, std::thread::id> both{static_cast<std::atomic<int>*>(closure), caller};
      const auto body = [](void* c, int64_t l, int64_t h, int32_t worker) -> int32_t {
        auto* p = static_cast<std::pair<std::atomic<int>*, std::thread::id>*>(c);
        if (worker != 0 || p->second != std::this_thread::get_id()) return 99;
        p->first->fetch_add(static_cast<int>(h - l));
        return FR_OK;
      };
      const int32_t status = parallel_for(10, 1, 4, body, &both);
      if (status != FR_OK) return status;
    }
    return FR_OK;
  };
  EXPECT_EQ(parallel_for(20, 1, 4, outer, &inner), FR_OK);
  EXPECT_EQ(inner.load(), 200);
}

TEST(ParallelFor, TheLowestFailingChunkGivesTheStatus) {
  const auto body = [](void*, int64_t lo, int64_t, int32_t) -> int32_t {
    return lo >= 40 ? static_cast<int32_t>(100 + lo) : FR_OK;
  };
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(parallel_for(1000, 10, 4, body, nullptr), 140);
    ASSERT_EQ(parallel_for(1000, 10, 1, body, nullptr), 140);
  }
}

TEST(ParallelFor, RegionsOfTwoThreadsAreBothRight) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        Visits visits(100);
        if (parallel_for(100, 3, 3, visit, &visits) != FR_OK) ++wrong;
        for (const auto& count : visits.count) wrong += count.load() != 1;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ParallelFor, AForkedChildHasAPoolOfItsOwn) {
  Visits before(100);
  ASSERT_EQ(parallel_for(100, 1, 4, visit, &before), FR_OK);
  const pid_t child = fork();
  if (child == 0) {
    Visits visits(100);
    const int32_t status = parallel_for(100, 1, 4, visit, &visits);
    bool right = status == FR_OK;
    for (const auto& count : visits.count) right = right && count.load() == 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Threads, TheEnvironmentIsReadInOrder) {
  unsetenv("FERRULE_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
  EXPECT_GE(default_num_threads(), 1);
  setenv("OMP_NUM_THREADS", "3,2", 1);
  EXPECT_EQ(default_num_threads(), 3);
  setenv("FERRULE_NUM_THREADS", "5", 1);
  EXPECT_EQ(default_num_threads(), 5);
  setenv("FERRULE_NUM_THREADS", "many", 1);
  EXPECT_EQ(default_num_threads(), 3);
  setenv("OMP_NUM_THREADS", "0", 1);
  EXPECT_GE(default_num_threads(), 1);
  unsetenv("FERRULE_NUM_THREADS");
  unsetenv("OMP_NUM_THREADS");
}

TEST(Host, TheFirstErrorOfASerialRunIsKept) {
  FrCallCtx ctx(nullptr);
  const int64_t first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
  host_table()->set_error(&ctx, FR_ERR_INDEX, 3, first);
  host_table()->set_error(&ctx, FR_ERR_SHAPE, 4, second);
  EXPECT_EQ(ctx.error.code, FR_ERR_INDEX);
  EXPECT_EQ(ctx.error.site, 3);
  EXPECT_EQ(ctx.error.values[3], 4);
}

TEST(Host, TheErrorOfTheLowestIterationIsKept) {
  const auto body = [](void* closure, int64_t lo, int64_t, int32_t) -> int32_t {
    if (lo < 30) return FR_OK;
    const int64_t values[4] = {lo, 0, 0, 0};
    host_table()->set_error(static_cast<FrCallCtx*>(closure), FR_ERR_INDEX, -1, values);
    return FR_STATUS_ERROR;
  };
  for (int round = 0; round < 200; ++round) {
    FrCallCtx ctx(nullptr);
    ctx.num_threads = 4;
    ASSERT_EQ(host_table()->parallel_for(&ctx, 1000, 1, body, &ctx), FR_STATUS_ERROR);
    ASSERT_EQ(ctx.error.values[0], 30);
  }
}

TEST(Host, ScratchIsAlignedAndRefusesTheImpossible) {
  FrCallCtx ctx(nullptr);
  void* scratch = host_table()->alloc_scratch(&ctx, 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
  EXPECT_EQ(ctx.error.code, 0);
  EXPECT_EQ(host_table()->alloc_scratch(&ctx, int64_t{1} << 62), nullptr);
  EXPECT_EQ(ctx.error.code, FR_ERR_MEMORY);
  EXPECT_EQ(ctx.error.values[0], int64_t{1} << 62);
}

TEST(Host, TheLastAnswerForAReturnCounts) {
  const FrReturn declared = {sizeof(FrReturn), 0, "", FR_RETURN_DYNAMIC, static_cast<uint32_t>(DType::F64), 1, 0, -1,
                             nullptr};
  FrModule module = {};
  module.size = sizeof(FrModule);
  module.n_returns = 1;
  module.returns = &declared;
  FrCallCtx ctx(&module);
  const int64_t small = 3, large = 5;
  auto* first = static_cast<double*>(host_table()->alloc_return(&ctx, 0, 1, &small));
  auto* second = static_cast<double*>(host_table()->alloc_return(&ctx, 0, 1, &large));
  first[2] = second[4] = 1;
  ASSERT_EQ(ctx.extras->returns.size(), 1u);
  EXPECT_EQ(ctx.extras->returns[0].data.get(), second);
  EXPECT_EQ(ctx.extras->returns[0].shape, std::vector<int64_t>{5});
  const int64_t stride = 1;
  EXPECT_EQ(host_table()->view_return(&ctx, 0, 2, 8, 1, &small, &stride), FR_OK);
  ASSERT_EQ(ctx.extras->returns.size(), 1u);
  EXPECT_EQ(ctx.extras->returns[0].data, nullptr);
  EXPECT_EQ(ctx.extras->returns[0].arg, 2);
}

TEST(Host, TheTimerMovesOn) {
  const int64_t before = host_table()->timer();
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(host_table()->timer() - before, 1'000'000);
}

TEST(Arena, TwoLeasesDifferAndOneIsUsedAgain) {
  ArenaPool pool;
  ArenaPool::Arena first = pool.lease(100), second = pool.lease(100);
  ASSERT_NE(first.memory, nullptr);
  EXPECT_NE(first.memory, second.memory);
  const void* kept = first.memory.get();
  pool.give_back(std::move(first));
  EXPECT_EQ(pool.lease(50).memory.get(), kept);
}

TEST(Arena, GrowsAndTellsWhenThereIsNoMemory) {
  ArenaPool pool;
  pool.give_back(pool.lease(10));
  ArenaPool::Arena grown = pool.lease(1000);
  EXPECT_GE(grown.bytes, 1000);
  EXPECT_EQ(pool.lease(int64_t{1} << 62).memory, nullptr);
}

}  // namespace
}  // namespace ferrule
