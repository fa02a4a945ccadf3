#include "runtime/pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/threads.h"

namespace ferrule {
namespace {

thread_local int64_t chunk_begin = -1;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// One parallel region; lives on its caller's stack until no thread is inside any more.
struct Region {
  Region(FrBody body, void* closure, int64_t n, int64_t grain, int64_t chunks)
      : body(body), closure(closure), n(n), grain(grain), chunks(chunks) {}

  const FrBody body;
  void* const closure;
  const int64_t n, grain, chunks;
  int threads = 1;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> failed{std::numeric_limits<int64_t>::max()};  // lowest chunk that failed
  std::atomic<int32_t> status{FR_OK};                                // its status; written under `mutex`
  std::mutex mutex;
  int workers = 1;  // that ever joined, the caller among them; guarded by the pool's mutex
  int inside = 0;   // pool threads that are in it now; guarded by the pool's mutex

  void work(int32_t worker) {
    for (;;) {
      const int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks || failed.load(std::memory_order_relaxed) < chunk) return;
      chunk_begin = chunk * grain;
      const int32_t result = body(closure, chunk_begin, std::min(n, chunk_begin + grain), worker);
      chunk_begin = -1;
      if (result != FR_OK) record_failure(chunk, result);
    }
  }

  void record_failure(int64_t chunk, int32_t result) {
    const std::lock_guard lock(mutex);
    if (chunk >= failed.load(std::memory_order_relaxed)) return;
    failed.store(chunk, std::memory_order_relaxed);
    status.store(result, std::memory_order_relaxed);
  }
};

class Pool {
 public:
  int threads() const { return threads_; }

  // False, with nothing done, when another thread's region is running.
  bool run(Region& region) {
    const std::unique_lock owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    start_workers(region.threads - 1);
    publish(&region);
    region.work(0);
    std::unique_lock lock(mutex_);
    region_ = nullptr;
    left_.wait(lock, [&] { return region.inside == 0; });
    return true;
  }

 private:
  void start_workers(int wanted) {
    for (; workers_ < wanted; ++workers_) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {
        return;  // fewer threads do the same work
      }
    }
  }

  void publish(Region* region) {
    {
      const std::lock_guard lock(mutex_);
      region_ = region;
      generation_.fetch_add(1, std::memory_order_release);
    }
    arrived_.notify_all();
  }

  // A sleeping thread takes 30 to 75 us to wake, so it looks around for a while before it sleeps.
  void wait_for_region(uint64_t seen) {
    for (int spin = 0; spin < 2000; ++spin) {
      if (generation_.load(std::memory_order_acquire) != seen) return;
      pause();
    }
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
  }

  void serve() {
    uint64_t seen = 0;
    for (;;) {
      wait_for_region(seen);
      std::unique_lock lock(mutex_);
      seen = generation_.load(std::memory_order_relaxed);
      Region* region = region_;
      if (region == nullptr || region->workers >= region->threads) continue;
      const int32_t worker = region->workers++;
      ++region->inside;
      lock.unlock();
      region->work(worker);
      lock.lock();
      if (--region->inside == 0) left_.notify_all();
    }
  }

  const int threads_ = default_num_threads();
  std::mutex owner_;  // held by the thread whose region runs
  int workers_ = 0;   // guarded by owner_
  std::mutex mutex_;
  std::condition_variable arrived_, left_;
  Region* region_ = nullptr;
  std::atomic<uint64_t> generation_{0};
};

std::atomic<Pool*> current_pool{nullptr};

// The threads of the parent do not exist in the child, and its locks may be held for ever: the child starts anew, and
// the old pool is left alone.
void forget_pool_in_child() {
  current_pool.store(nullptr);
  chunk_begin = -1;
}

// Never destroyed: its threads run until the process ends.
Pool& pool() {
  Pool* known = current_pool.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool_in_child);
  (void)registered;
  Pool* fresh = new Pool;
  if (current_pool.compare_exchange_strong(known, fresh)) return *fresh;
  delete fresh;
  return *known;
}

int32_t run_alone(Region& region) {
  for (int64_t lo = 0; lo < region.n; lo += region.grain) {
    const int64_t outer = chunk_begin;
    if (outer < 0) chunk_begin = lo;
    const int32_t status = region.body(region.closure, lo, std::min(region.n, lo + region.grain), 0);
    chunk_begin = outer;
    if (status != FR_OK) return status;
  }
  return FR_OK;
}

}  // namespace

int64_t current_iteration() { return chunk_begin; }

int32_t parallel_for(int64_t n, int64_t grain, int threads, FrBody body, void* closure) {
  if (n <= 0) return FR_OK;
  grain = std::clamp<int64_t>(grain, 1, n);
  const int64_t chunks = (n - 1) / grain + 1;
  Region region(body, closure, n, grain, chunks);
  if (chunks == 1 || threads == 1 || chunk_begin >= 0) return run_alone(region);
  Pool& shared = pool();
  if (threads <= 0) threads = shared.threads();
  region.threads = static_cast<int>(std::min<int64_t>(threads, chunks));
  if (region.threads == 1 || !shared.run(region)) return run_alone(region);
  return region.status.load(std::memory_order_relaxed);
}

}  // namespace ferrule
