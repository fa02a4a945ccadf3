// The whole pipeline: a Program in, an Artifact out. compiler.cpp is the table of contents of the compiler.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/key.h"
#include "artifact/store.h"
#include "build/flags.h"
#include "pass.h"
#include "program/program.h"
#include "signature/signature.h"

namespace ferrule {

struct EmitRequest {
  bool strict_scalars = false;
  bool alias_version = false;  // also emit run_alias, right for every overlap of arguments
  bool reference = false;      // have the host evaluate the program instead: what target 'reference' asks for
  PassOptions passes;          // `off` is part of the key
};

struct EmittedSource {
  std::string source;       // one C++ translation unit
  Ingredients ingredients;  // of the first-level key
  std::vector<StageTime> times;
  std::vector<std::pair<std::string, std::string>> text;  // output of each stage, with PassOptions::keep_text
};

// The stages up to the C++ text; runs no compiler. Throws Error(Internal) when a stage broke a rule.
EmittedSource emit_source(const Program& program, const EmitRequest& request);

// The same for a source kernel: `author_text` with the frame that `signature`, a completed one, asks for. Its one stage
// is "emit".
EmittedSource emit_source(const Signature& signature, const std::string& author_text, const PassOptions& options = {});

struct CompileOptions {
  EmitRequest emit;
  BuildOptions build;    // target, mode, flags, include_dir
  std::string compiler;  // requested C++ compiler; empty: CXX, c++, g++, clang++
};

struct Compilation {
  Artifact artifact;
  EmittedSource emitted;
  bool built = false;  // false: the store had it
};

// All stages, through `store`; build.target "reference" sets emit.reference, and the evaluator. Throws Error of kind
// Build when the C++ compiler fails.
Compilation compile(const Program& program, const CompileOptions& options, Store& store);

// Has the calls of modules for target 'reference' evaluated by this library: needed before one is loaded where nothing
// is compiled.
void use_evaluator();

// "program", "analyse", "lower", the passes of schedule in order, "emit".
std::vector<std::string> stage_names();
// Throws user_error naming the stages where `name` is none of them.
void require_stage(const std::string& name);

// Throws user_error naming the passes that can be left out where `name` is none of them.
void require_optional_pass(const std::string& name);

// SHA-256 over the compiler's own sources; part of every first-level key.
std::string_view compiler_digest();

}  // namespace ferrule
