// The lock on a key, by which processes that want the same entry wait for the one that builds it. It saves double work
// only: nothing depends on it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "artifact/file_system.h"

namespace ferrule {

// Held until destroyed, or held in name only where locks do not work or another holder exceeds the time limit.
class StoreLock {
 public:
  StoreLock(FileSystem* files, UniqueFd fd) : files_(files), fd_(std::move(fd)) {}
  StoreLock(StoreLock&&) = default;
  ~StoreLock() { files_->unlock(&fd_); }
  bool held() const { return static_cast<bool>(fd_); }

 private:
  FileSystem* files_;
  UniqueFd fd_;
};

struct LockRequest {
  std::string path;      // of the lock file
  std::string entry;     // what its holder makes; once that is there nobody waits
  double timeout_s = 0;  // how long another one may hold it
  double answer_s = 0;   // after so long without an answer of the file system, locks count as broken
};

// Waits until the lock is free, the entry is there or the time is over. False where the file system gave no answer.
// `watch` is called meanwhile, and what it throws ends the wait. `files` has to live as long as an
// attempt may take.
bool take_lock(FileSystem& files, const LockRequest& request, const std::function<void()>& watch, UniqueFd* fd);

}  // namespace ferrule
