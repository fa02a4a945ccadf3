// Runs a program without a shell: argument vector in, exit state and captured output out.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ferrule {

struct ProcessOptions {
  std::string folder;                    // working folder; empty: the caller's
  std::vector<std::string> environment;  // "NAME=value"; nothing else is passed on
  std::string output_path;               // a new file that takes stdout and stderr; empty: the output is dropped
  double time_limit_s = 0;               // 0: none; past it the whole process group is killed
  std::function<void()> watch;  // called now and then meanwhile; what it throws kills the group and is thrown on
};

struct ProcessResult {
  int spawn_error = 0;  // errno value where the program could not be started; the rest is then meaningless
  int exit_status = 0;
  int signal = 0;  // != 0: ended by this signal
  bool timed_out = false;
  bool status_lost = false;  // the host reaps children itself (SIGCHLD ignored): exit_status is unknown
  double seconds = 0;
};

// Runs argv[0] (a path, or a name looked up on PATH of the caller) to its end. The child gets stdin from /dev/null,
// default signal handling, a process group of its own and no descriptor of the caller's. Where the system has
// pseudo-terminals, the whole group ends with this process, however that ends.
ProcessResult run_process(const std::vector<std::string>& argv, const ProcessOptions& options);

}  // namespace ferrule
