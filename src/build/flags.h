// The options of a build and the compiler flags that they mean.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "build/target.h"
#include "build/toolchain.h"

namespace ferrule {

struct BuildOptions {
  std::string target = "native";         // "native", "baseline", "multi" or "reference"
  std::string mode = "release";          // "release" or "debug"
  std::string sanitize;                  // "" or the value of -fsanitize=, for example "address,undefined"
  std::vector<std::string> extra_flags;  // appended, in order; CXXFLAGS of the configuration comes in here
  bool standard_library = false;  // the source includes C++ standard headers: link libstdc++ and allow exceptions
  double time_limit_s = 600;      // of the compiler's run; 0: none. Not in a key
  std::string include_dir;        // holds ferrule/abi.h and ferrule/rt/; only its content is in a key
  std::string work_folder;        // where temporary folders are made; empty: TMPDIR. Not in a key
  std::function<void()> watch;    // called now and then while waiting; what it throws ends the wait. Not in a key
};

// The words of the environment variable CXXFLAGS, to be read once as configuration. Quotes and backslashes are those
// of the shell.
std::vector<std::string> environment_flags();

// Every flag that can change the code, in order, without paths of this machine: what a key holds and what a build uses.
// Throws Error(User) for an unknown mode.
std::vector<std::string> code_flags(const Toolchain& toolchain, const Target& target, const BuildOptions& options);

// What stands behind the source file on the command line: the libraries.
std::vector<std::string> link_flags(const BuildOptions& options);

}  // namespace ferrule
