#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
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

constexpr double kWatchEveryS = 0.05;

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

// What ends a child together with this process, even one that is killed: the child leads a session whose terminal is
// held here, and when the last descriptor of a terminal's master goes, the kernel hangs up on the session's processes.
// (PR_SET_PDEATHSIG would reach the compiler's driver alone, and leave what that has started.)
class Leash {
 public:
#ifdef POSIX_SPAWN_SETSID
  Leash() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    char name[64];
    if (master_ && unlockpt(master_.get()) == 0 && ptsname_r(master_.get(), name, sizeof name) == 0 &&
        access(name, R_OK | W_OK) == 0) {
      terminal_ = name;
    }
  }
  static constexpr short kFlag = POSIX_SPAWN_SETSID;
#else
  static constexpr short kFlag = 0;
#endif
  // Empty where there is none. A session's leader that opens it takes it as its terminal.
  const std::string& terminal() const { return terminal_; }

 private:
  UniqueFd master_;
  std::string terminal_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

void kill_group(pid_t child) {
  int status = 0;
  kill(-child, SIGKILL);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// Waits until the child has ended or the time limit has passed; true iff it has ended. The output goes to a file and
// not through a pipe, so a grandchild that stays behind cannot hold us.
bool wait_until_ended(pid_t child, const ProcessOptions& options, int* status, bool* lost) {
  Clock::time_point start = Clock::now();
  const double limit = options.time_limit_s;
  const double slice = options.watch ? kWatchEveryS : 3600;
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
      poll(&item, 1, static_cast<int>(std::min(left, slice) * 1000) + 1);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno == ECHILD) {
      *lost = true;
      return true;
    }
    if (options.watch) options.watch();
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options) {
  ProcessResult result;
  SpawnActions actions;
  SpawnAttributes attributes;
  const Leash leash;
  const bool leashed = !leash.terminal().empty();
  const int group = leashed ? Leash::kFlag : POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(attributes.get(),
                           static_cast<short>(group | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(attributes.get(), 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(attributes.get(), &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(attributes.get(), &signals);

  const std::string output = options.output_path.empty() ? "/dev/null" : options.output_path;
  const int create = options.output_path.empty() ? 0 : O_CREAT | O_EXCL;
  if (leashed) posix_spawn_file_actions_addopen(actions.get(), 0, leash.terminal().c_str(), O_RDWR, 0);
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
  try {
    if (!wait_until_ended(child, options, &status, &result.status_lost)) {
      result.timed_out = true;
      kill_group(child);
    }
  } catch (...) {
    kill_group(child);
    throw;
  }
  result.seconds = seconds_since(start);
  if (result.status_lost) return result;
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace ferrule
