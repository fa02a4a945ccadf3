// Source text in, shared object out, through a compiler process.
#pragma once

#include <string>
#include <vector>

#include "build/flags.h"

namespace ferrule {

struct Binary {
  std::string bytes;                 // the shared object
  std::string log;                   // what the compiler printed
  double seconds = 0;                // wall time of the compiler process
  std::vector<std::string> command;  // as it was run; names of files are relative to its temporary folder
};

// Compiles `source` into a shared object. Equal source, toolchain, target and options give equal bytes whatever the
// folder and the time. A failure throws Error(Build) that has the command, the compiler's first error and the path of
// the kept source (a folder `failed-*` in the work folder). Where options.watch throws, the compiler with all its
// processes is killed and nothing is kept.
Binary build(const std::string& source, const Toolchain& toolchain, const Target& target, const BuildOptions& options);

}  // namespace ferrule
