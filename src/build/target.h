// The instruction set that a module is built for: explicit flags and features, never the word "native".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/probe.h"
#include "build/toolchain.h"

namespace ferrule {

struct Target {
  std::string name;                   // as asked: "native", "baseline", "multi" or "reference"
  std::string march;                  // resolved, for example "znver3"; may be less than the CPU has (see features)
  std::vector<std::string> flags;     // exactly what the compiler gets, "-march=znver3", "-mavx2", "-mno-avx512f", ...
  std::vector<std::string> features;  // sorted; what the code may use, among those that base/cpu.h can tell

  // Of "multi": one target a level of the architecture, lowest first, each named after its level and holding what those
  // before it hold. The rest then says what every host must have, and what all levels are built with. Else empty.
  std::vector<Target> levels = {};
};

// "native": what the compiler's own -march=native expands to on this host. "baseline": x86-64-v3 or armv8-a. "multi":
// x86-64-v2, -v3 and -v4, or armv8-a. The last two depend on the architecture alone. "reference": what the compiler
// assumes where it is told nothing, for the modules that the host evaluates. Throws Error(User) for another name,
// Error(Build) when the compiler does not answer.
Target resolve_target(const std::string& name, const Toolchain& toolchain, const ProbeCache& cache);

// Parses what `cxx -march=native -### -S -x c++ /dev/null` prints. `compiler` is
// named in the error. Public for tests with other compilers' answers.
Target parse_native(std::string_view output, CompilerKind kind, std::string_view compiler = "c++");

// Drops the flags that `-march=` implies anyway, by what GCC's `-march=<name> -Q --help=target` prints.
void drop_implied_flags(std::string_view help, Target* target);

}  // namespace ferrule
