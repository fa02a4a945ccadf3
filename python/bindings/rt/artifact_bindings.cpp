// Store, Artifact, compilation of source text and warm records for Python; thin, and without the GIL where work is
// done.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "artifact/compile.h"
#include "artifact/placement.h"
#include "artifact/store_archive.h"
#include "artifact/store_root.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/sha256.h"
#include "interruption.h"

namespace nb = nanobind;

namespace ferrule {

void bind_artifact(nb::module_& m);

namespace {

using python::interruptible;
using python::Stop;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

Ingredients ingredients_of(const Pairs& pairs) {
  Ingredients out;
  for (const auto& [name, value] : pairs) out.push_back(ingredient(name, value));
  return out;
}

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

nb::bytes to_python(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::dict to_python(const CompileStats& stats) {
  nb::dict out;
  out["key"] = stats.key;
  out["compiles"] = stats.compiles;
  out["hits"] = stats.hits;
  out["compiler_seconds"] = stats.compiler_seconds;
  return out;
}

nb::tuple compile(Store& store, const std::string& name, const std::string& source, const std::string& binding,
                  const Pairs& program, const std::string& compiler, const std::string& target, const std::string& mode,
                  const std::string& sanitize, const std::vector<std::string>& extra_flags, bool standard_library,
                  double time_limit, const std::string& include_dir, const Stop* stop) {
  BuildOptions options{.target = target,
                       .mode = mode,
                       .sanitize = sanitize,
                       .extra_flags = extra_flags,
                       .standard_library = standard_library,
                       .time_limit_s = time_limit,
                       .include_dir = include_dir};
  CompileStats stats;
  Artifact artifact = interruptible(stop, [&](const std::function<void()>& watch) {
    options.watch = watch;
    return compile_source({name, source, binding, ingredients_of(program)}, compiler, options, store, &stats);
  });
  return nb::make_tuple(nb::cast(std::move(artifact)), to_python(stats));
}

// A warm start must work without any compiler, so that its absence is an answer here.
std::string toolchain_identity(const std::string& compiler, Store& store) {
  return interruptible(nullptr, [&](const std::function<void()>& watch) -> std::string {
    try {
      ProbeCache probes = store.probes();
      probes.watch = watch;
      return find_toolchain(compiler, probes).identity;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Build) throw;
      return "";
    }
  });
}

// Fills the store's answers of the compiler about itself ahead of the compile that needs them. What fails here fails
// again there and is reported then.
void probe_toolchain(const std::string& compiler, const std::string& target, Store& store, const Stop* stop) {
  interruptible(stop, [&](const std::function<void()>& watch) {
    try {
      ProbeCache probes = store.probes();
      probes.watch = watch;
      resolve_target(target, find_toolchain(compiler, probes), probes);
    } catch (const Error&) {
    } catch (const Interrupted&) {
      if (stop == nullptr || !stop->is_set()) throw;
    }
  });
}

nb::dict to_python(const Archived& archived) {
  nb::dict out;
  out["entries"] = archived.entries;
  out["records"] = archived.records;
  return out;
}

nb::list entries_of(Store& store) {
  std::vector<StoredEntry> entries;
  {
    nb::gil_scoped_release unlocked;
    entries = store.entries();
  }
  nb::list out;
  for (const StoredEntry& entry : entries) {
    nb::dict item;
    item["key"] = entry.key;
    item["name"] = entry.name;
    item["bytes"] = entry.bytes;
    item["used"] = entry.used_s;
    item["problem"] = entry.problem;
    out.append(item);
  }
  return out;
}

nb::dict verify(Store& store, bool repair) {
  Verification result;
  {
    nb::gil_scoped_release unlocked;
    result = store.verify(repair);
  }
  nb::list findings;
  for (const Finding& finding : result.findings) {
    nb::dict item;
    item["kind"] = finding.kind;
    item["path"] = nb::steal(PyUnicode_DecodeFSDefaultAndSize(finding.path.data(), finding.path.size()));
    item["problem"] = finding.problem;
    item["removed"] = finding.removed;
    findings.append(item);
  }
  nb::dict out;
  out["entries"] = result.entries;
  out["records"] = result.records;
  out["findings"] = findings;
  return out;
}

nb::dict prune(Store& store, std::optional<int64_t> max_bytes, std::optional<int64_t> older_than) {
  Pruned result;
  {
    nb::gil_scoped_release unlocked;
    result = store.prune({.max_bytes = max_bytes.value_or(-1), .older_than_s = older_than.value_or(-1), .keep = ""});
  }
  nb::dict out;
  out["entries"] = result.entries;
  out["records"] = result.records;
  out["freed"] = result.freed;
  out["left"] = result.left;
  return out;
}

nb::dict export_to(Store& store, const std::string& path, const std::vector<std::string>& keys) {
  Archived result;
  {
    nb::gil_scoped_release unlocked;
    result = export_store(store, path, keys);
  }
  return to_python(result);
}

nb::dict import_from(Store& store, const std::string& path) {
  Archived result;
  {
    nb::gil_scoped_release unlocked;
    result = import_store(store, path);
  }
  return to_python(result);
}

nb::dict describe_toolchain(const std::string& compiler, const std::string& target, Store& store) {
  Toolchain toolchain;
  Target resolved;
  {
    nb::gil_scoped_release unlocked;
    const ProbeCache probes = store.probes();
    toolchain = find_toolchain(compiler, probes);
    resolved = resolve_target(target, toolchain, probes);
  }
  nb::dict out;
  out["command"] = toolchain.command;
  out["kind"] = toolchain.kind == CompilerKind::Clang ? "clang" : "gcc";
  out["version"] = toolchain.version;
  out["identity"] = toolchain.identity;
  out["triplet"] = toolchain.triplet;
  out["target"] = resolved.name;
  out["march"] = resolved.march;
  out["target_flags"] = resolved.flags;
  out["features"] = resolved.features;
  return out;
}

void bind_store(nb::module_& m) {
  nb::class_<Store>(m, "Store", "Compiled programs on disk, by the digest of all that they depend on.")
      .def(
          "__init__",
          [](Store* self, std::optional<std::string> root, bool read_only, double lock_timeout,
             std::vector<std::shared_ptr<Store>> levels, std::optional<int64_t> max_bytes) {
            nb::gil_scoped_release unlocked;
            new (self) Store(root ? *root : default_store_root(), StoreOptions{.read_only = read_only,
                                                                               .lock_timeout_s = lock_timeout,
                                                                               .max_bytes = max_bytes.value_or(-1),
                                                                               .levels = std::move(levels)});
          },
          nb::arg("root") = nb::none(), nb::kw_only(), nb::arg("read_only") = false, nb::arg("lock_timeout") = 60.0,
          nb::arg("levels") = std::vector<std::shared_ptr<Store>>{}, nb::arg("max_bytes") = nb::none())
      .def_prop_ro("root", &Store::root)
      .def(
          "contains", [](Store& self, const std::string& key) { return self.lookup(key).has_value(); }, Unlocked(),
          nb::arg("key"))
      .def(
          "get",
          [](Store& self, const std::string& key) -> std::optional<Artifact> {
            std::optional<Entry> entry = self.lookup(key);
            if (!entry) return std::nullopt;
            return Artifact(*entry, true);
          },
          Unlocked(), nb::arg("key"), "The artifact under a key, by value; None where no sound entry is found.")
      .def("read_warm", &Store::read_warm, Unlocked(), nb::arg("key"))
      .def("write_warm", &Store::write_warm, Unlocked(), nb::arg("key"), nb::arg("json"))
      .def("take_warnings", &Store::take_warnings)
      .def("entries", &entries_of, "One dict an entry: key, name, bytes, used (seconds since 1970), problem.")
      .def("verify", &verify, nb::kw_only(), nb::arg("repair") = false,
           "Reads every file: {entries, records, findings: [{kind, path, problem, removed}]}.")
      .def("prune", &prune, nb::kw_only(), nb::arg("max_bytes") = nb::none(), nb::arg("older_than") = nb::none(),
           "Removes what was not used for the longest time: {entries, records, freed, left}.")
      .def("export_to", &export_to, nb::arg("path"), nb::arg("keys") = std::vector<std::string>{})
      .def("import_from", &import_from, nb::arg("path"))
      .def("compile", &compile, nb::arg("name"), nb::arg("source"), nb::kw_only(), nb::arg("binding") = "{}",
           nb::arg("program") = Pairs{}, nb::arg("compiler") = "", nb::arg("target") = "native",
           nb::arg("mode") = "release", nb::arg("sanitize") = "", nb::arg("extra_flags") = std::vector<std::string>{},
           nb::arg("standard_library") = false, nb::arg("time_limit") = 600.0, nb::arg("include_dir"),
           nb::arg("stop") = nb::none(),
           "The artifact of C++ source text and what it took: (artifact, {key, compiles, hits, compiler_seconds}).");
}

void bind_value(nb::module_& m) {
  nb::class_<Artifact>(m, "Artifact", "A compiled program as a frozen value; equal where the keys are equal.")
      .def_prop_ro("key", &Artifact::key)
      .def_prop_ro("name", &Artifact::name)
      .def_prop_ro("manifest", &Artifact::manifest, "Portable manifest as JSON text.")
      .def_prop_ro("source", &Artifact::source)
      .def_prop_ro("has_module", &Artifact::has_module, "True where the module travels with the value.")
      .def("embed", &embed_module, Unlocked(), nb::arg("store"), "The same by value, its module read from the store.")
      .def("by_reference", &Artifact::without_module)
      .def("to_bytes", [](const Artifact& self) { return to_python(self.to_bytes()); })
      .def_static(
          "from_bytes", [](const nb::bytes& bytes) { return Artifact::from_bytes(view_of(bytes)); }, nb::arg("bytes"))
      .def("save", &save_artifact, Unlocked(), nb::arg("path"))
      .def_static("open", &open_artifact, Unlocked(), nb::arg("path"))
      .def(
          "place",
          [](const Artifact& self, const std::string& folder, const std::string& name, bool production,
             const nb::bytes& log) {
            const std::string_view text = view_of(log);
            nb::gil_scoped_release unlocked;
            place_artifact(self, folder, name, production ? Layout::Production : Layout::Development, text);
          },
          nb::arg("folder"), nb::arg("name"), nb::kw_only(), nb::arg("production"), nb::arg("log"),
          "Writes the files into a folder of the user's: NAME.so, NAME.json and, but for production, NAME.cpp and the "
          "log.")
      .def("unmet_needs", &unmet_needs, "Why this host cannot run it; empty where it can.")
      .def(
          "module_bytes",
          [](const Artifact& self, Store& store) {
            LoadableModule module;
            {
              nb::gil_scoped_release unlocked;
              module = load_bytes(self, store);
            }
            return to_python(module.bytes);
          },
          nb::arg("store"), "Verified bytes of the shared object, from the store or from the value.")
      .def(
          "loadable",
          [](const Artifact& self, Store& store, bool rebuild_allowed, const std::string& compiler,
             const std::string& include_dir) {
            LoadableModule module;
            {
              nb::gil_scoped_release unlocked;
              const auto built = [&] { return rebuild(self, compiler, include_dir, store); };
              module = rebuild_allowed ? load_bytes(self, store, built) : load_bytes(self, store);
            }
            return nb::make_tuple(module.key, to_python(module.bytes));
          },
          nb::arg("store"), nb::kw_only(), nb::arg("rebuild"), nb::arg("compiler") = "", nb::arg("include_dir") = "",
          "(key, verified bytes) of the first place that has the module: the store, the value, read-only stores, a "
          "build "
          "from the source where that is allowed.")
      .def(
          "rebuild",
          [](const Artifact& self, Store& store, const std::string& compiler, const std::string& include_dir) {
            return interruptible(nullptr, [&](const std::function<void()>& watch) {
              return rebuild(self, compiler, include_dir, store, nullptr, watch);
            });
          },
          nb::arg("store"), nb::kw_only(), nb::arg("compiler") = "", nb::arg("include_dir"),
          "Built anew from its own source for this host and compiler.")
      .def("__getstate__", [](const Artifact& self) { return to_python(self.to_bytes()); })
      .def("__setstate__",
           [](Artifact& self, const nb::bytes& state) { new (&self) Artifact(Artifact::from_bytes(view_of(state))); })
      .def(
          "__eq__", [](const Artifact& self, const Artifact& other) { return self == other; }, nb::is_operator())
      .def("__hash__", [](const Artifact& self) { return std::stoll(self.key().substr(0, 15), nullptr, 16); })
      .def("__dask_tokenize__", &Artifact::key)
      .def("__repr__",
           [](const Artifact& self) { return "<Artifact '" + self.name() + "' " + self.key().substr(0, 16) + ">"; });
}

}  // namespace

void bind_artifact(nb::module_& m) {
  nb::class_<Stop>(m, "Stop", "Ends the compilations that it is given to, their compiler processes killed.")
      .def(nb::init<>())
      .def("set", &Stop::set)
      .def_prop_ro("is_set", &Stop::is_set);
  bind_value(m);
  bind_store(m);
  m.def(
      "sha256_hex",
      [](const nb::bytes& bytes) {
        std::string_view view = view_of(bytes);
        nb::gil_scoped_release unlocked;
        return sha256_hex(view);
      },
      nb::arg("bytes"));
  m.def("default_store_root", &default_store_root);
  m.def("environment_flags", &environment_flags, "The words of CXXFLAGS; to be read once and given as extra_flags.");
  m.def("probe_toolchain", &probe_toolchain, nb::arg("compiler"), nb::arg("target"), nb::arg("store"),
        nb::arg("stop") = nb::none(),
        "Ask the C++ compiler who it is and what the target means, where the store does not know it yet.");
  m.def("toolchain_identity", &toolchain_identity, nb::arg("compiler"), nb::arg("store"),
        "Digest of who the C++ compiler is (`compiler`, else CXX, else PATH); empty where none can be used.");
  m.def("describe_toolchain", &describe_toolchain, nb::arg("compiler"), nb::arg("target"), nb::arg("store"),
        "Who the C++ compiler is and what the target means to it. Raises BuildError where none can be used.");
  m.def("usable_cores", &usable_cores, "Cores that this process may use.");
  m.def(
      "available_memory",
      []() -> std::optional<int64_t> {
        const int64_t bytes = available_memory();
        return bytes < 0 ? std::nullopt : std::optional(bytes);
      },
      "Bytes that can be had without swapping, by the system and by the control group; None where nothing says it.");
  m.attr("COMPILER_BYTES") = kCompilerBytes;
  m.attr("HEADROOM_BYTES") = kHeadroomBytes;
  m.def("host_features", &host_features, "The CPU features of this host, by the compilers' names.");
  m.def(
      "digest_of", [](const Pairs& pairs) { return digest_of(ingredients_of(pairs)); }, nb::arg("ingredients"),
      "The key of an ordered list of (name, value) pairs.");
  m.def(
      "changes_between",
      [](const Pairs& before, const Pairs& after) {
        std::vector<std::vector<std::string>> out;
        for (const IngredientChange& change : changes_between(ingredients_of(before), ingredients_of(after))) {
          out.push_back({change.name, change.before, change.after});
        }
        return out;
      },
      nb::arg("before"), nb::arg("after"), "What differs between two lists of ingredients: [name, before, after].");
}

}  // namespace ferrule
