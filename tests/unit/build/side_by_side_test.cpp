// Several compilations for one caller: all are done, failures and interruptions end all.
#include "build/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/error.h"

namespace ferrule {
namespace {

// Waits until its watch ends it, as a compiler's run does.
void run_until_stopped(const Watch& watch) {
  for (int i = 0; i < 20000; ++i) {
    watch();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL() << "nothing ended the job";
}

std::string message_of(int count, const std::function<void(int, const Watch&)>& job) {
  try {
    run_side_by_side(count, job, {});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(SideBySide, EveryJobIsDoneOnce) {
  std::atomic<int> done[9] = {};
  run_side_by_side(9, [&](int job, const Watch&) { ++done[job]; }, {});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(done[i], 1) << i;
  run_side_by_side(0, [](int, const Watch&) { FAIL(); }, {});
}

TEST(SideBySide, TheFirstFailureThatIsNoConsequenceIsThrown) {
  EXPECT_EQ(message_of(3,
                       [](int job, const Watch& watch) {
                         if (job == 0) throw std::runtime_error("job 0");
                         run_until_stopped(watch);
                       }),
            "job 0");
  // The last one by number fails first where several run at once; where one runs after the other nothing may hang.
  if (further_compilations(1, 1) == 0) GTEST_SKIP() << "one core, or no memory for two";
  EXPECT_EQ(message_of(2,
                       [](int job, const Watch& watch) {
                         if (job == 1) throw std::runtime_error("job 1");
                         run_until_stopped(watch);
                       }),
            "job 1");
}

TEST(SideBySide, WhatTheCallersWatchThrowsEndsAll) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> calls = 0;
  const Watch watch = [&] {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    if (++calls == 5) throw std::logic_error("Ctrl-C");
  };
  EXPECT_THROW(run_side_by_side(4, [](int, const Watch& own) { run_until_stopped(own); }, watch), std::logic_error);
}

// The caller has nothing left to do itself, and still looks after signals.
TEST(SideBySide, TheCallerWatchesUntilTheLastHasEnded) {
  if (further_compilations(1, 1) == 0) GTEST_SKIP() << "one core, or no memory for two";
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> helper_runs = false;
  const auto job = [&](int, const Watch& own) {
    if (std::this_thread::get_id() == caller) {
      while (!helper_runs) std::this_thread::yield();
    } else {
      helper_runs = true;
      run_until_stopped(own);
    }
  };
  const Watch watch = [] { throw std::logic_error("Ctrl-C"); };
  EXPECT_THROW(run_side_by_side(2, job, watch), std::logic_error);
}

TEST(SideBySide, CoresLimitIt) {
  EXPECT_EQ(further_compilations(3, 1 << 20), 0);
  EXPECT_EQ(further_compilations(0, 1), 0);
  EXPECT_LE(further_compilations(1 << 20, 1), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace ferrule
