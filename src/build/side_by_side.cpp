#include "build/side_by_side.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/resources.h"

namespace ferrule {
namespace {

std::atomic<int> running_compilations = 0;

// What the other threads of a process did when it was forked does not go on in the child.
[[maybe_unused]] const int forgotten_by_children = pthread_atfork(nullptr, nullptr, [] { running_compilations = 0; });

class Jobs {
 public:
  Jobs(int count, const std::function<void(int, const Watch&)>& job, const Watch& watch)
      : job_(job), watch_(watch), failures_(static_cast<size_t>(count)) {}

  void run() {
    const int count = static_cast<int>(failures_.size());
    const int helpers = further_compilations(count - 1, running_compilations.fetch_add(1) + 1);
    std::vector<std::thread> threads;
    try {
      for (int i = 0; i < helpers; ++i) threads.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
      // No thread to be had: there is this one.
    }
    work([this] { watch_and_stop(); });
    wait_for(static_cast<int>(threads.size()));
    for (std::thread& thread : threads) thread.join();
    --running_compilations;
    rethrow();
  }

 private:
  void work(const Watch& watch) {
    const int count = static_cast<int>(failures_.size());
    for (int i; !stopped_ && (i = next_++) < count;) {
      try {
        job_(i, watch);
      } catch (...) {
        failures_[static_cast<size_t>(i)] = std::current_exception();
        stopped_ = true;
      }
    }
  }

  void help() {
    ++running_compilations;
    work([this] {
      if (stopped_) throw Interrupted();
    });
    --running_compilations;
    std::lock_guard guard(mutex_);
    ++ended_;
    changed_.notify_one();
  }

  void watch_and_stop() {
    if (stopped_) throw Interrupted();
    if (!watch_) return;
    try {
      watch_();
    } catch (...) {
      interruption_ = std::current_exception();
      stopped_ = true;
      throw;
    }
  }

  void wait_for(int helpers) {
    std::unique_lock guard(mutex_);
    while (!changed_.wait_for(guard, std::chrono::milliseconds(50), [&] { return ended_ == helpers; })) {
      guard.unlock();
      try {
        watch_and_stop();
      } catch (...) {
        // Kept by watch_and_stop, or the helpers' own; what is left is to wait for their end.
      }
      guard.lock();
    }
  }

  // What the caller's watch threw goes before all; then what is no consequence of another failure.
  void rethrow() {
    if (interruption_) std::rethrow_exception(interruption_);
    std::exception_ptr first;
    for (const std::exception_ptr& failure : failures_) {
      if (!failure) continue;
      try {
        std::rethrow_exception(failure);
      } catch (const Interrupted&) {
        continue;
      } catch (...) {
        first = failure;
        break;
      }
    }
    if (first) std::rethrow_exception(first);
  }

  const std::function<void(int, const Watch&)>& job_;
  const Watch& watch_;
  std::vector<std::exception_ptr> failures_;
  std::exception_ptr interruption_;
  std::atomic<int> next_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;  // helpers
};

}  // namespace

int further_compilations(int wanted, int running) {
  const int by_cores = std::min(wanted, usable_cores() - running);
  if (by_cores <= 0) return 0;
  const int64_t memory = available_memory();
  if (memory < 0) return by_cores;
  // Those that run may have most of their memory before them.
  return static_cast<int>(std::clamp<int64_t>((memory - kHeadroomBytes) / kCompilerBytes - running, 0, by_cores));
}

void run_side_by_side(int count, const std::function<void(int, const Watch&)>& job, const Watch& watch) {
  Jobs(count, job, watch).run();
}

}  // namespace ferrule
