// Finds the C++ compiler and says who it is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "build/probe.h"

namespace ferrule {

enum class CompilerKind { Gcc, Clang };

struct Toolchain {
  std::vector<std::string> command;  // absolute path of the compiler, then leading arguments ("ccache g++" has one)
  CompilerKind kind = CompilerKind::Gcc;
  std::string version;   // first line of `--version`
  std::string identity;  // SHA-256 over path, version, and size and mtime of the driver and of the programs it runs
  std::string triplet;   // "x86_64-linux-gnu"
};

// The compiler to use: `requested` where it is not empty, else the environment variable CXX, else c++, g++ or clang++
// on PATH. A name without a slash is looked up on PATH. Throws Error(Build) when it is missing or cannot be run.
Toolchain find_toolchain(const std::string& requested, const ProbeCache& cache);

// The environment that the compiler gets: PATH, LC_ALL=C and TMPDIR=`temporary_folder`, nothing else.
std::vector<std::string> compiler_environment(const std::string& temporary_folder);

// Runs the compiler with `arguments`, without output files, and returns stdout and stderr. Throws Error(Build) when it
// cannot be started, fails or takes longer than half a minute. `watch` as in ProcessOptions.
std::string ask_compiler(const Toolchain& toolchain, const std::vector<std::string>& arguments,
                         const std::function<void()>& watch = {});

}  // namespace ferrule
