// Artifacts of target "multi": one value with a module a level, of which a host gets the best that it can run.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "artifact/store_archive.h"
#include "base/cpu.h"
#include "testing.h"

namespace ferrule {
namespace {

using nlohmann::json;

constexpr char kSource[] =
    "extern \"C\" __attribute__((visibility(\"default\"))) void twice(double* x) { for (int i = 0; i < 8; ++i) x[i] *= "
    "2; }\n";

class LevelsTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    options_.include_dir = std::string(FERRULE_SOURCE_DIR) + "/include";
    options_.target = "multi";
  }
  Artifact compile(Store& store, CompileStats* stats = nullptr) {
    return compile_source({"twice", kSource, "{}", program_ingredients("program", "{}", "{}", "compiler")}, "",
                          options_, store, stats);
  }
  BuildOptions options_;
};

// The artifact with the needs of its levels changed, as for hosts that have less or more than this one.
Artifact with_needs(const Artifact& artifact, const std::vector<std::vector<std::string>>& features) {
  json manifest = json::parse(artifact.manifest());
  json& levels = manifest["needs"]["levels"];
  EXPECT_EQ(levels.size(), features.size());
  for (size_t i = 0; i < features.size(); ++i) levels[i]["features"] = features[i];
  std::string bytes = "ferrule artifact 1\n";
  for (const std::string& part : {manifest.dump(), artifact.source(), artifact.module()}) {
    bytes += std::to_string(part.size()) + "\n" + part;
  }
  return Artifact::from_bytes(bytes);
}

std::vector<std::string> level_names(const Artifact& artifact) {
  std::vector<std::string> names;
  for (const Manifest::Module& module : parse_manifest(artifact.manifest()).modules) names.push_back(module.level);
  return names;
}

#if defined(__x86_64__)

const std::vector<std::string> kV2 = {"popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"};
const std::vector<std::string> kV3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"};
const std::vector<std::string> kV4 = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};

TEST_F(LevelsTest, AHostGetsTheBestThatItRuns) {
  Store store(path("cache"));
  const Artifact artifact = compile(store);
  const Manifest manifest = parse_manifest(artifact.manifest());
  ASSERT_EQ(level_names(artifact), (std::vector<std::string>{"x86-64-v2", "x86-64-v3", "x86-64-v4"}));
  const auto level_on = [&](std::vector<std::string> host) {
    std::sort(host.begin(), host.end());
    const Manifest::Module* module = module_for(manifest, host);
    return module ? module->level : std::string("none");
  };
  std::vector<std::string> host = {"sha", "sse4a"};  // what no level asks for
  EXPECT_EQ(level_on(host), "none");
  for (const auto& [more, level] : {std::pair(kV2, "x86-64-v2"), {kV3, "x86-64-v3"}, {kV4, "x86-64-v4"}}) {
    const std::string before = level_on(host);
    for (const std::string& feature : more) {
      EXPECT_EQ(level_on(host), before) << "too early, before " << feature;
      host.push_back(feature);
    }
    EXPECT_EQ(level_on(host), level);
  }
}

TEST_F(LevelsTest, TheBytesAreThoseOfTheLevel) {
  Store store(path("cache")), empty(path("empty"));
  const Artifact artifact = compile(store);
  const std::string folder = entry_path(path("cache"), artifact.key());
  const std::vector<std::vector<std::string>> hosts[] = {
      {{}, {"avx9000"}, {"avx9000"}}, {{}, {}, {"avx9000"}}, {{}, {}, {}}};
  for (size_t i = 0; i < 3; ++i) {
    const LoadableModule module = load_bytes(with_needs(artifact, hosts[i]), empty);
    std::string file;
    EXPECT_EQ(module.level, level_names(artifact)[i]);
    EXPECT_EQ(read_file(folder + "/module-" + module.level + ".so", &file), 0);
    EXPECT_TRUE(module.bytes == file);
    EXPECT_EQ(module.key, artifact.key());
  }
}

TEST_F(LevelsTest, WhereNoneRunsItIsRefusedOrBuiltForThisCpu) {
  Store store(path("cache")), empty(path("empty"));
  const Artifact foreign = with_needs(compile(store), {{"avx9000"}, {"avx9000", "avx9001"}, {"avx9000", "avx9002"}});
  EXPECT_EQ(unmet_needs(foreign), "it needs CPU features that this host lacks: avx9000");
  try {
    load_bytes(foreign, empty);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    EXPECT_NE(std::string(error.what()).find("this host lacks: avx9000;"), std::string::npos) << error.what();
  }
  const Artifact built = rebuild(foreign, "", options_.include_dir, empty);
  EXPECT_EQ(parse_manifest(built.manifest()).options.target, "native");
  EXPECT_EQ(load_bytes(foreign, empty, [&] { return built; }).bytes.substr(1, 3), "ELF");
}

#endif

TEST_F(LevelsTest, IsOneEntryAndOneBuild) {
  CompileStats stats;
  Store store(path("cache"));
  const Artifact artifact = compile(store, &stats);
  EXPECT_EQ(stats.compiles, static_cast<int>(level_names(artifact).size()));
  EXPECT_EQ(stats.hits, 0);
  EXPECT_EQ(store.entries().size(), 1u);
  EXPECT_TRUE(names_in(staging_root(path("cache"))).empty());
  EXPECT_TRUE(compile(store, &stats) == artifact);
  EXPECT_EQ(stats.hits, 1);
  EXPECT_EQ(rebuild(artifact, "", options_.include_dir, store, &stats).key(), artifact.key());
  EXPECT_EQ(stats.hits, 2);
  options_.target = "baseline";
  EXPECT_FALSE(compile(store) == artifact);
}

TEST_F(LevelsTest, AFailureIsToldAsThatOfOneModule) {
  Store store(path("cache"));
  EXPECT_THROW(compile_source({"bad", "int f() { return missing; }\n", "{}", {}}, "", options_, store), Error);
  EXPECT_TRUE(store.entries().empty());
}

TEST_F(LevelsTest, EveryFileOfTheEntryIsVerified) {
  Store store(path("cache"));
  const Artifact artifact = compile(store);
  const std::string folder = entry_path(path("cache"), artifact.key());
  EXPECT_TRUE(store.verify().findings.empty());
  for (const std::string& level : level_names(artifact)) {
    const std::string file = folder + "/module-" + level + ".so";
    overwrite(file, "damaged");
    const Verification found = store.verify();
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].problem, "'module-" + level + ".so' was changed");
    CompileStats stats;
    EXPECT_EQ(compile(store, &stats).to_bytes(), artifact.to_bytes());
    EXPECT_EQ(stats.hits, 0);
    remove_tree(file);
    EXPECT_EQ(store.verify().findings.at(0).problem, "'module-" + level + ".so' is missing");
    compile(store);
  }
  overwrite(folder + "/module.so", "a module too many");
  EXPECT_EQ(store.verify().findings.at(0).problem, "it holds a file that is not its own");
}

TEST_F(LevelsTest, ValuesTravelWhole) {
  Store store(path("cache")), other(path("another")), third(path("third"));
  const Artifact artifact = compile(store);
  const std::string bytes = artifact.to_bytes();
  EXPECT_EQ(Artifact::from_bytes(bytes).to_bytes(), bytes);
  EXPECT_EQ(compile(other).to_bytes(), bytes);
  EXPECT_EQ(embed_module(artifact.without_module(), store).to_bytes(), bytes);
  EXPECT_EQ(artifact.without_module().with_module(artifact.module()).to_bytes(), bytes);
  EXPECT_THROW(artifact.with_module(artifact.module().substr(1)), Error);
  EXPECT_THROW(artifact.with_module(artifact.module() + "x"), Error);
  save_artifact(artifact, path("twice.fra"));
  EXPECT_EQ(open_artifact(path("twice.fra")).to_bytes(), bytes);
  EXPECT_EQ(open_artifact(entry_path(path("cache"), artifact.key())).to_bytes(), bytes);
  EXPECT_EQ(export_store(store, path("archive"), {}).entries, 1);
  EXPECT_EQ(import_store(third, path("archive")).entries, 1);
  EXPECT_EQ(Artifact(*third.lookup(artifact.key()), true).to_bytes(), bytes);
}

TEST_F(LevelsTest, DamagedValuesAreErrors) {
  Store store(path("cache"));
  const std::string bytes = compile(store).to_bytes();
  for (size_t at = bytes.size() / 2; at < bytes.size(); at += 1 + bytes.size() / 100) {
    std::string changed = bytes;
    changed[at] ^= 1;
    EXPECT_THROW(Artifact::from_bytes(changed), Error) << at;
    EXPECT_THROW(Artifact::from_bytes(bytes.substr(0, at)), Error) << at;
  }
}

// A level is part of a file's name, and an archive may come from anywhere.
TEST_F(LevelsTest, ALevelIsNoPath) {
  Store store(path("cache"));
  json manifest = json::parse(compile(store).manifest());
  for (const char* name : {"../../x", "", "a/b", "x y"}) {
    json hostile = manifest;
    hostile["needs"]["levels"][0]["name"] = name;
    hostile["files"][std::string("module-") + name + ".so"] =
        hostile["files"]["module-" + std::string(manifest["needs"]["levels"][0]["name"]) + ".so"];
    EXPECT_THROW(parse_manifest(hostile.dump()), Error) << name;
  }
  manifest["needs"]["levels"] = json::array();
  EXPECT_THROW(parse_manifest(manifest.dump()), Error);
}

}  // namespace
}  // namespace ferrule
