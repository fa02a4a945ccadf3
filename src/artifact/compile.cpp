#include "artifact/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "base/cpu.h"
#include "base/error.h"
#include "build/side_by_side.h"
#include "ferrule/abi.h"

namespace ferrule {
namespace {

#if defined(__x86_64__)
constexpr char kHostArchitecture[] = "x86_64";
#elif defined(__aarch64__)
constexpr char kHostArchitecture[] = "aarch64";
#else
#error "Name this architecture as the first part of the compiler's triplet."
#endif

// Builds in the store's staging area and not where the user's temporary files are: there a killed process's rubbish
// would stay for ever. A full disk there must not fail the program, though.
Binary build_in_store(const SourceUnit& unit, const Toolchain& toolchain, const Target& target, BuildOptions options,
                      Store& store) {
  if (!options.work_folder.empty()) return build(unit.source, toolchain, target, options);
  options.work_folder = store.work_folder();
  if (options.work_folder.empty()) return build(unit.source, toolchain, target, options);
  try {
    return build(unit.source, toolchain, target, options);
  } catch (const Error&) {
    if (store.has_room()) throw;
  }
  options.work_folder.clear();
  return build(unit.source, toolchain, target, options);
}

// One module for the target, or one a level of it. `seconds` is what the caller waited for the compiler.
std::vector<Binary> build_modules(const SourceUnit& unit, const Toolchain& toolchain, const Target& target,
                                  const BuildOptions& options, Store& store, double* seconds) {
  std::vector<Binary> binaries(std::max<size_t>(1, target.levels.size()));
  if (target.levels.empty()) {
    binaries[0] = build_in_store(unit, toolchain, target, options, store);
    *seconds = binaries[0].seconds;
    return binaries;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto build_one = [&](int level, const Watch& watch) {
    BuildOptions own = options;
    own.watch = watch;
    const auto i = static_cast<size_t>(level);
    binaries[i] = build_in_store(unit, toolchain, target.levels[i], own, store);
  };
  run_side_by_side(static_cast<int>(binaries.size()), build_one, options.watch);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return binaries;
}

Entry build_entry(const SourceUnit& unit, const Toolchain& toolchain, const Target& target, const BuildOptions& options,
                  const Ingredients& ingredients, Store& store) {
  double seconds = 0;
  std::vector<Binary> binaries = build_modules(unit, toolchain, target, options, store, &seconds);
  ManifestParts parts{unit.name, unit.binding, unit.program, ingredients, toolchain.triplet, target.features, options};
  Entry entry;
  entry.key = digest_of(ingredients);
  entry.source = unit.source;
  nlohmann::json local = nlohmann::json::object();
  for (size_t i = 0; i < binaries.size(); ++i) {
    if (target.levels.empty()) {
      local["command"] = binaries[i].command;
    } else {
      const Target& level = target.levels[i];
      parts.levels.push_back({level.name, level.features, binaries[i].bytes.size()});
      local["commands"][level.name] = binaries[i].command;
    }
    entry.module += binaries[i].bytes;
    entry.log += binaries[i].log;
  }
  local["seconds"] = seconds;
  entry.manifest = make_manifest(parts, entry.module, unit.source);
  entry.local = local.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return entry;
}

LoadableModule loadable(const Manifest& manifest, const std::string& key, const std::string& modules) {
  const Manifest::Module* module = module_for(manifest, host_features());
  if (module == nullptr) throw internal_error("A module is loaded that this host cannot run.");
  return {key, std::string(bytes_of(manifest, *module, modules)), module->level};
}

// Another process may have published other bytes under the key than those of `expected`.
LoadableModule loadable(const Manifest& expected, const std::string& text, const Entry& entry) {
  return loadable(entry.manifest == text ? expected : parse_manifest(entry.manifest), entry.key, entry.module);
}

// What this host lacks for the lowest level of an artifact; empty where it can run one.
std::vector<std::string> lacking(const Manifest& manifest) {
  if (module_for(manifest, host_features()) != nullptr) return {};
  return missing_features(manifest.modules.front().features);
}

std::string architecture_of(const Manifest& manifest) { return manifest.triplet.substr(0, manifest.triplet.find('-')); }

std::string unmet_needs_of(const Manifest& manifest) {
  if (manifest.abi_major != static_cast<int>(FR_ABI_MAJOR)) {
    return fmt::format("it has ABI version {}, this library runs {}", manifest.abi_major, FR_ABI_MAJOR);
  }
  if (const std::string architecture = architecture_of(manifest); architecture != kHostArchitecture) {
    return fmt::format("it was built for {}, this host is {}", architecture, kHostArchitecture);
  }
  if (std::vector<std::string> missing = lacking(manifest); !missing.empty()) {
    return fmt::format("it needs CPU features that this host lacks: {}", fmt::join(missing, ", "));
  }
  return "";
}

}  // namespace

CompileStats& CompileStats::operator+=(const CompileStats& other) {
  compiles += other.compiles;
  hits += other.hits;
  compiler_seconds += other.compiler_seconds;
  key = other.key;
  return *this;
}

Artifact compile_source_to_entry(const SourceUnit& unit, const Toolchain& toolchain, const Target& target,
                                 const BuildOptions& options, Store& store, CompileStats* stats) {
  const Ingredients ingredients = entry_ingredients(unit.source, unit.binding, toolchain, target, options,
                                                    store.headers().digest(options.include_dir));
  CompileStats own;
  own.key = digest_of(ingredients);
  const auto make = [&] {
    if (std::optional<Entry> entry = store.lookup(own.key)) return Artifact(*entry, true);
    StoreLock lock = store.lock(own.key, options.watch);
    if (std::optional<Entry> entry = store.lookup(own.key)) return Artifact(*entry, true);
    Entry made = build_entry(unit, toolchain, target, options, ingredients, store);
    own.compiles = std::max(1, static_cast<int>(target.levels.size()));
    own.compiler_seconds = nlohmann::json::parse(made.local).at("seconds");
    std::optional<Entry> published = store.publish(made);
    return Artifact(published ? *published : made, true);
  };
  Artifact artifact = store.flights().run(own.key, make, options.watch);
  own.hits = own.compiles == 0 ? 1 : 0;
  if (stats) *stats += own;
  return artifact;
}

Artifact compile_source(const SourceUnit& unit, const std::string& compiler, const BuildOptions& options, Store& store,
                        CompileStats* stats) {
  ProbeCache probes = store.probes();
  probes.watch = options.watch;
  Toolchain toolchain = find_toolchain(compiler, probes);
  Target target = resolve_target(options.target, toolchain, probes);
  return compile_source_to_entry(unit, toolchain, target, options, store, stats);
}

Artifact rebuild(const Artifact& artifact, const std::string& compiler, const std::string& include_dir, Store& store,
                 CompileStats* stats, const std::function<void()>& watch) {
  Manifest manifest = parse_manifest(artifact.manifest());
  if (artifact.source().empty()) {
    throw Error(ErrorKind::Incompatible, fmt::format("Artifact '{}' was kept without its source.", manifest.name));
  }
  BuildOptions options = manifest.options;
  options.include_dir = include_dir;
  options.watch = watch;
  // What a target means that is the same on every host of an architecture this one has shown not to run.
  if (architecture_of(manifest) == kHostArchitecture && !lacking(manifest).empty()) options.target = "native";
  return compile_source({manifest.name, artifact.source(), manifest.binding, manifest.program}, compiler, options,
                        store, stats);
}

std::string unmet_needs(const Artifact& artifact) { return unmet_needs_of(parse_manifest(artifact.manifest())); }

LoadableModule load_bytes(const Artifact& artifact, Store& store, const std::function<Artifact()>& rebuilt) {
  std::vector<std::string> tried;
  const Manifest manifest = parse_manifest(artifact.manifest());
  if (std::string unmet = unmet_needs_of(manifest); !unmet.empty()) {
    tried.push_back(unmet);
  } else {
    const auto found = [&](const Entry& entry) { return loadable(manifest, artifact.manifest(), entry); };
    if (std::optional<Entry> entry = store.lookup_here(artifact.key())) return found(*entry);
    tried.push_back(fmt::format("the store '{}' has no sound entry", store.root()));
    if (artifact.has_module()) return loadable(manifest, artifact.key(), artifact.module());
    tried.push_back("the artifact has no module by value");
    if (std::optional<Entry> entry = store.lookup_levels(artifact.key())) return found(*entry);
    tried.push_back("no read-only store has it");
  }
  if (rebuilt) {
    try {
      return load_bytes(rebuilt(), store, {});
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Build && error.kind() != ErrorKind::Incompatible) throw;
      tried.push_back(fmt::format("building it from its source failed: {}", error.what()));
    }
  } else {
    tried.push_back("building it from its source was not allowed");
  }
  throw Error(ErrorKind::Incompatible, fmt::format("Artifact '{}' ({}) cannot be loaded: {}.", artifact.name(),
                                                   artifact.key().substr(0, 16), fmt::join(tried, "; ")));
}

Artifact embed_module(const Artifact& artifact, Store& store) {
  if (artifact.has_module()) return artifact;
  std::optional<Entry> entry = store.lookup(artifact.key());
  if (!entry) {
    throw Error(ErrorKind::Incompatible,
                fmt::format("Artifact '{}' ({}) has no module by value and the store '{}' does not have it; compile it "
                            "again.",
                            artifact.name(), artifact.key().substr(0, 16), store.root()));
  }
  // Another process may have published other bytes under the key since; its manifest is then the one that fits.
  return Artifact(*entry, true);
}

}  // namespace ferrule
