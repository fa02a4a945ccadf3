// From source text to an entry: look up, build once, publish.
#pragma once

#include <functional>
#include <string>

#include "artifact/artifact.h"
#include "artifact/key.h"
#include "artifact/store.h"
#include "build/build.h"

namespace ferrule {

// What `emit`, or the author of a source kernel, hands over.
struct SourceUnit {
  std::string name;
  std::string source;   // one C++ translation unit that exports a descriptor
  std::string binding;  // canonical JSON: how arguments are bound, as far as the source does not say it
  Ingredients program;  // of the first level
};

struct CompileStats {
  int compiles = 0;             // runs of the compiler
  int hits = 0;                 // found in a store, or made by another thread meanwhile
  double compiler_seconds = 0;  // waited for it
  std::string key;

  CompileStats& operator+=(const CompileStats& other);
};

// The artifact of `unit` for this toolchain, target and options: from the store, else built and published. Threads that
// ask for one key share one build, processes do so by a lock. The result has its module by value, since another process
// may remove the entry at any moment. Throws Error(Build) as build() does. `stats`, where given, is added to.
Artifact compile_source_to_entry(const SourceUnit& unit, const Toolchain& toolchain, const Target& target,
                                 const BuildOptions& options, Store& store, CompileStats* stats = nullptr);

// The same with the compiler of the configuration (`compiler`, else CXX, else PATH) and options.target resolved.
Artifact compile_source(const SourceUnit& unit, const std::string& compiler, const BuildOptions& options, Store& store,
                        CompileStats* stats = nullptr);

// The artifact built anew from its own source for this host, for its CPU where it lacks what the artifact's target
// needs; `include_dir` and `watch` as in BuildOptions.
Artifact rebuild(const Artifact& artifact, const std::string& compiler, const std::string& include_dir, Store& store,
                 CompileStats* stats = nullptr, const std::function<void()>& watch = {});

// Why this host cannot run the artifact (ABI, architecture, CPU features); empty where it can.
std::string unmet_needs(const Artifact& artifact);

struct LoadableModule {
  std::string key;    // of the second level; another one than the artifact's after a rebuild
  std::string bytes;  // verified
  std::string level;  // of several, the one that it is
};

// The module's verified bytes, of several levels the best one that this host can run, from the first that has them: the
// store, the artifact itself, the store's read-only levels, `rebuilt` (where given). Throws Error(Incompatible) with
// all that was tried.
LoadableModule load_bytes(const Artifact& artifact, Store& store, const std::function<Artifact()>& rebuilt = {});

// The artifact by value: with its module from the store where it has none itself. Throws as load_bytes.
Artifact embed_module(const Artifact& artifact, Store& store);

}  // namespace ferrule
