// The whole pipeline: a Program in, an Artifact out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/store.h"
#include "build/flags.h"
#include "pass.h"
#include "program/program.h"

namespace ferrule {

struct CompileOptions {
  BuildOptions build;         // target, mode, flags, include_dir
  std::string compiler;       // requested C++ compiler; empty: CXX, c++, g++, clang++
  bool strict_scalars = false;
  bool alias_version = false; // also emit run_alias, right for every overlap of arguments
  PassOptions passes;
};

struct Compilation {
  Artifact artifact;
  std::string source;
  bool built = false;  // false: the store had it
  std::vector<StageTime> times;
  std::vector<std::pair<std::string, std::string>> text;  // output of each stage, with PassOptions::keep_text
};

// Compiles through `store`. Throws Error of kind Build when the C++ compiler fails, Internal when a stage broke a rule.
Compilation compile(const Program& program, const CompileOptions& options, Store& store);

// The emitted C++ alone, without a compiler: for ir("source"), ferrule-opt and tests.
std::string emit_source(const Program& program, const CompileOptions& options, Passes& passes);

}  // namespace ferrule
