#include "artifact/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "artifact/manifest.h"
#include "base/cpu.h"
#include "base/error.h"
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

Entry build_entry(const SourceUnit& unit, const Toolchain& toolchain, const Target& target, const BuildOptions& options,
                  const Ingredients& ingredients, Store& store) {
  Binary binary = build_in_store(unit, toolchain, target, options, store);
  Entry entry;
  entry.key = digest_of(ingredients);
  entry.manifest =
      make_manifest({unit.name, unit.binding, unit.program, ingredients, toolchain.triplet, target.features, options},
                    binary.bytes, unit.source);
  entry.module = std::move(binary.bytes);
  entry.source = unit.source;
  entry.log = std::move(binary.log);
  nlohmann::json local = {{"command", binary.command}, {"seconds", binary.seconds}};
  entry.local = local.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return entry;
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
    Store::Lock lock = store.lock(own.key, options.watch);
    if (std::optional<Entry> entry = store.lookup(own.key)) return Artifact(*entry, true);
    Entry made = build_entry(unit, toolchain, target, options, ingredients, store);
    own.compiles = 1;
    own.compiler_seconds = nlohmann::json::parse(made.local).at("seconds");
    std::optional<Entry> published = store.publish(made);
    return Artifact(published ? *published : made, true);
  };
  Artifact artifact = store.flights().run(own.key, make, options.watch);
  own.hits = 1 - own.compiles;
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
  return compile_source({manifest.name, artifact.source(), manifest.binding, manifest.program}, compiler, options,
                        store, stats);
}

std::string unmet_needs(const Artifact& artifact) {
  Manifest manifest = parse_manifest(artifact.manifest());
  if (manifest.abi_major != static_cast<int>(FR_ABI_MAJOR)) {
    return fmt::format("it has ABI version {}, this library runs {}", manifest.abi_major, FR_ABI_MAJOR);
  }
  const std::string architecture = manifest.triplet.substr(0, manifest.triplet.find('-'));
  if (architecture != kHostArchitecture) {
    return fmt::format("it was built for {}, this host is {}", architecture, kHostArchitecture);
  }
  if (std::vector<std::string> missing = missing_features(manifest.features); !missing.empty()) {
    return fmt::format("it needs CPU features that this host lacks: {}", fmt::join(missing, ", "));
  }
  return "";
}

LoadableModule load_bytes(const Artifact& artifact, Store& store, const std::function<Artifact()>& rebuilt) {
  std::vector<std::string> tried;
  if (std::string unmet = unmet_needs(artifact); !unmet.empty()) {
    tried.push_back(unmet);
  } else {
    if (std::optional<Entry> entry = store.lookup_here(artifact.key())) return {entry->key, std::move(entry->module)};
    tried.push_back(fmt::format("the store '{}' has no sound entry", store.root()));
    if (artifact.has_module()) return {artifact.key(), artifact.module()};
    tried.push_back("the artifact has no module by value");
    if (std::optional<Entry> entry = store.lookup_levels(artifact.key())) return {entry->key, std::move(entry->module)};
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
