#include "artifact/store_lock.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace ferrule {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// One attempt after another to take a lock, in a thread of its own: on some network file systems even an attempt that
// shall not wait never returns, and then only the thread is lost.
struct LockAttempts {
  FileSystem& files;
  const std::string path, entry;
  const Clock::time_point end;
  std::mutex mutex;
  std::condition_variable changed;
  int answers = 0;
  bool done = false, given_up = false;
  UniqueFd fd = UniqueFd();

  void run() {
    for (int wait = 1;; wait = std::min(2 * wait, 50)) {
      UniqueFd lock;
      const int error = files.try_lock(path, &lock);
      FileStatus status;
      const bool busy = error == EWOULDBLOCK || error == EINTR;  // else held, or locks do not work here
      const bool over = !busy || files.status(entry, &status) == 0 || Clock::now() > end;
      {
        std::lock_guard guard(mutex);
        ++answers;
        if (given_up) {
          files.unlock(&lock);
          return;
        }
        if (over) {
          fd = std::move(lock);
          done = true;
        }
      }
      changed.notify_all();
      if (over) return;
      std::this_thread::sleep_for(milliseconds(wait));
    }
  }

  // False where an attempt has not returned for `answer_s`. What `watch` throws is thrown on.
  bool wait(double answer_s, const std::function<void()>& watch) {
    std::unique_lock guard(mutex);
    int seen = answers;
    Clock::time_point answered = Clock::now();
    while (!done) {
      changed.wait_for(guard, milliseconds(50), [&] { return done || answers != seen; });
      if (answers != seen) {
        seen = answers;
        answered = Clock::now();
      } else if (Clock::now() - answered > std::chrono::duration<double>(answer_s)) {
        given_up = true;
        return false;
      }
      if (!watch || done) continue;
      guard.unlock();
      try {
        watch();
      } catch (...) {
        guard.lock();
        given_up = true;
        if (done) files.unlock(&fd);  // closing it is not enough where a child has it, too
        throw;
      }
      guard.lock();
    }
    return true;
  }
};

}  // namespace

bool take_lock(FileSystem& files, const LockRequest& request, const std::function<void()>& watch, UniqueFd* fd) {
  const Clock::time_point end = Clock::now() + milliseconds(static_cast<int64_t>(request.timeout_s * 1000));
  std::shared_ptr<LockAttempts> attempts(
      new LockAttempts{.files = files, .path = request.path, .entry = request.entry, .end = end});
  try {
    std::thread([attempts] { attempts->run(); }).detach();
  } catch (const std::system_error&) {
    return true;  // no thread to be had: work is done twice at the worst
  }
  if (!attempts->wait(request.answer_s, watch)) return false;
  *fd = std::move(attempts->fd);
  return true;
}

}  // namespace ferrule
