#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.h"

namespace ferrule {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class SpawnAttributes {
 public:
  SpawnAttributes() { posix_spawnattr_init(&attributes_); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Waits until the child has ended or `limit` seconds have passed (<= 0: no limit); true iff it has ended. The output
// goes to a file and not through a pipe, so a grandchild that stays behind cannot hold us.
bool wait_until_ended(pid_t child, double limit, int* status, bool* lost) {
  Clock::time_point start = Clock::now();
#ifdef SYS_pidfd_open
  UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
#else
  UniqueFd handle;
#endif
  for (;;) {
    double left = limit <= 0 ? 3600 : limit - seconds_since(start);
    if (left <= 0) return false;
    if (handle) {
      pollfd item{handle.get(), POLLIN, 0};
      poll(&item, 1, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno == ECHILD) {
      *lost = true;
      return true;
    }
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  ProcessResult result;
  SpawnActions actions;
  SpawnAttributes attributes;
  posix_spawnattr_setflags(attributes.get(), POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(attributes.get(), 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(attributes.get(), &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(attributes.get(), &signals);

  const std::string output = options.output_path.empty() ? "/dev/null" : options.output_path;
  const int create = options.output_path.empty() ? 0 : O_CREAT | O_EXCL;
  posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions.get(), 1, output.c_str(), O_WRONLY | O_APPEND | create, 0600);
  posix_spawn_file_actions_adddup2(actions.get(), 1, 2);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(actions.get(), options.folder.c_str());
#if __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(actions.get(), 3);
#endif

  std::vector<char*> arguments = pointers(argv);
  std::vector<char*> environment = pointers(options.environment);
  Clock::time_point start = Clock::now();
  pid_t child = -1;
  result.spawn_error =
      posix_spawnp(&child, arguments[0], actions.get(), attributes.get(), arguments.data(), environment.data());
  if (result.spawn_error != 0) return result;

  int status = 0;
  if (!wait_until_ended(child, options.time_limit_s, &status, &result.status_lost)) {
    result.timed_out = true;
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  result.seconds = seconds_since(start);
  if (result.status_lost) return result;
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace ferrule
