// From source to entry with the real compiler, and artifacts as values.
#include "artifact/compile.h"

#include <gtest/gtest.h>

#include <thread>

#include "testing.h"

namespace ferrule {
namespace {

class CompileTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    options_.include_dir = std::string(FERRULE_SOURCE_DIR) + "/include";
  }
  std::string root() const { return path("cache"); }
  static SourceUnit unit(const std::string& body = "return 2 * x;") {
    return {"twice", "extern \"C\" __attribute__((visibility(\"default\"))) long twice(long x) { " + body + " }\n",
            "{\"args\":[\"x\"]}", program_ingredients("program " + body, "{}", "{}", "compiler")};
  }
  BuildOptions options_;
};

TEST_F(CompileTest, CompilesOnceAcrossStores) {
  CompileStats stats;
  std::string key;
  {
    Store store(root());
    Artifact artifact = compile_source(unit(), "", options_, store, &stats);
    EXPECT_EQ(stats.compiles, 1);
    EXPECT_EQ(stats.hits, 0);
    EXPECT_GT(stats.compiler_seconds, 0);
    EXPECT_EQ(stats.key, artifact.key());
    EXPECT_TRUE(artifact.has_module());
    EXPECT_EQ(artifact.name(), "twice");
    EXPECT_EQ(load_bytes(artifact, store).bytes.substr(1, 3), "ELF");
    key = artifact.key();
  }
  Store store(root());
  Artifact again = compile_source(unit(), "", options_, store, &stats);
  EXPECT_EQ(stats.compiles, 1);
  EXPECT_EQ(stats.hits, 1);
  EXPECT_EQ(again.key(), key);
  EXPECT_NE(compile_source(unit("return 3 * x;"), "", options_, store, &stats).key(), key);
  EXPECT_EQ(stats.compiles, 2);
  EXPECT_TRUE(names_in(staging_root(root())).empty());
}

TEST_F(CompileTest, ModesAreEntriesOfTheirOwn) {
  Store store(root());
  CompileStats stats;
  BuildOptions debug = options_;
  debug.mode = "debug";
  for (const BuildOptions& options : {options_, debug, options_, debug}) {
    compile_source(unit(), "", options, store, &stats);
  }
  EXPECT_EQ(stats.compiles, 2);
  EXPECT_EQ(stats.hits, 2);
}

TEST_F(CompileTest, BuildsADamagedEntryAgain) {
  Store store(root());
  CompileStats stats;
  Artifact artifact = compile_source(unit(), "", options_, store, &stats);
  for (const char* file : {kModuleFile, kManifestFile, kSourceFile, kLogFile}) {
    overwrite(entry_path(root(), artifact.key()) + "/" + file, "damaged");
    Artifact again = compile_source(unit(), "", options_, store, &stats);
    EXPECT_EQ(again.key(), artifact.key());
    EXPECT_EQ(again.manifest(), artifact.manifest());
    EXPECT_FALSE(load_bytes(again, store).bytes.empty());
  }
  EXPECT_EQ(stats.compiles, 5);
}

TEST_F(CompileTest, WorksWithoutAnyStore) {
  FailingFiles files;
  for (const char* function : {"make_folder", "write_new_file", "make_private_folder"})
    files.errors[function] = {ENOSPC};
  Store store(root(), {.files = &files});
  CompileStats stats;
  Artifact artifact = compile_source(unit(), "", options_, store, &stats);
  EXPECT_TRUE(artifact.has_module());
  EXPECT_EQ(load_bytes(artifact, store).bytes.substr(1, 3), "ELF");
  EXPECT_EQ(store.take_warnings().size(), 1u);
}

TEST_F(CompileTest, LocksThatDoNotWorkCostNothingButWork) {
  FailingFiles files;
  files.errors["try_lock"] = {ENOSYS};
  Store store(root(), {.files = &files});
  EXPECT_FALSE(load_bytes(compile_source(unit(), "", options_, store), store).bytes.empty());
}

// Between the build and the load anybody may remove the entry.
TEST_F(CompileTest, AnArtifactLoadsAfterItsEntryIsGone) {
  Store store(root());
  Artifact artifact = compile_source(unit(), "", options_, store);
  EXPECT_EQ(store.prune({.max_bytes = 0}).entries, 1);
  EXPECT_FALSE(load_bytes(artifact, store).bytes.empty());
}

// Here nothing that was published is ever seen again.
TEST_F(CompileTest, WorksWhereARenamedEntryCannotBeSeen) {
  FailingFiles files;
  files.errors["read_folder"] = {ENOENT};
  Store store(root(), {.files = &files});
  for (int round = 0; round < 2; ++round) {
    CompileStats stats;
    Artifact artifact = compile_source(unit(), "", options_, store, &stats);
    EXPECT_EQ(stats.compiles, 1);
    EXPECT_FALSE(load_bytes(artifact, store).bytes.empty());
  }
  EXPECT_TRUE(store.take_warnings().empty());
  files.errors.clear();
  EXPECT_EQ(store.entries().size(), 1u);
  EXPECT_TRUE(store.verify().findings.empty());
}

TEST_F(CompileTest, ThreadsShareABuild) {
  Store store(root());
  find_toolchain("", store.probes());
  std::vector<CompileStats> stats(6);
  std::vector<std::thread> threads;
  for (CompileStats& own : stats) {
    threads.emplace_back([&] { compile_source(unit(), "", options_, store, &own); });
  }
  for (std::thread& thread : threads) thread.join();
  CompileStats all;
  for (const CompileStats& own : stats) all += own;
  EXPECT_EQ(all.compiles, 1);
  EXPECT_EQ(all.hits, 5);
}

TEST_F(CompileTest, AFailureIsNamedAndKept) {
  Store store(root());
  try {
    compile_source(unit("return missing;"), "", options_, store);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Build);
    EXPECT_NE(std::string(error.what()).find("'missing' was not declared"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(staging_root(root()) + "/failed-"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(load_bytes(compile_source(unit(), "", options_, store), store).bytes.empty());
}

TEST_F(CompileTest, AHitNeedsNoWorkingCompilerForLoading) {
  Store store(root());
  Artifact artifact = compile_source(unit(), "", options_, store);
  Artifact travelled = Artifact::from_bytes(artifact.to_bytes());
  EXPECT_FALSE(
      load_bytes(travelled, store, [&] { return rebuild(travelled, "/nonexistent", "", store); }).bytes.empty());
}

TEST_F(CompileTest, ValuesTravel) {
  Store store(root());
  Artifact artifact = compile_source(unit(), "", options_, store).without_module();
  Artifact by_value = embed_module(artifact, store);
  EXPECT_TRUE(by_value == artifact);
  EXPECT_TRUE(by_value.has_module());
  EXPECT_LT(artifact.to_bytes().size() + 1000, by_value.to_bytes().size());

  Store other(path("another"));
  Artifact back = Artifact::from_bytes(by_value.to_bytes());
  EXPECT_EQ(back.manifest(), artifact.manifest());
  EXPECT_EQ(back.source(), unit().source);
  EXPECT_EQ(load_bytes(back, other).bytes, by_value.module());
  EXPECT_EQ(back.without_module().to_bytes(), artifact.to_bytes());
  EXPECT_EQ(artifact.with_module(by_value.module()).to_bytes(), by_value.to_bytes());
  EXPECT_THROW(artifact.with_module("something else"), Error);

  save_artifact(by_value, path("twice.fra"));
  EXPECT_EQ(open_artifact(path("twice.fra")).to_bytes(), by_value.to_bytes());
  EXPECT_EQ(open_artifact(entry_path(root(), artifact.key())).to_bytes(), by_value.to_bytes());
  EXPECT_THROW(open_artifact(path("nothing")), Error);
}

TEST_F(CompileTest, EqualProgramsGiveEqualBytes) {
  Store one(path("one")), two(path("two with a longer name"));
  Artifact first = embed_module(compile_source(unit(), "", options_, one), one);
  Artifact second = embed_module(compile_source(unit(), "", options_, two), two);
  EXPECT_TRUE(first.to_bytes() == second.to_bytes());
  EXPECT_EQ(first.to_bytes().find(folder_), std::string::npos);
}

TEST_F(CompileTest, DamagedBytesAreErrors) {
  Store store(root());
  std::string bytes = embed_module(compile_source(unit(), "", options_, store), store).to_bytes();
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 200) {
    EXPECT_THROW(Artifact::from_bytes(bytes.substr(0, size)), Error) << size;
    std::string changed = bytes;
    changed[size] ^= 1;
    try {
      // A few bytes of the manifest carry no promise (a name); all others are noticed.
      EXPECT_NE(Artifact::from_bytes(changed).manifest(), Artifact::from_bytes(bytes).manifest()) << size;
    } catch (const Error&) {
    }
  }
  EXPECT_THROW(Artifact::from_bytes(bytes + "x"), Error);
}

TEST_F(CompileTest, AMissListsAllThatWasTried) {
  Store store(root()), empty(path("empty"));
  Artifact artifact = compile_source(unit(), "", options_, store).without_module();
  try {
    load_bytes(artifact, empty, [&] { return rebuild(artifact, "/nonexistent", options_.include_dir, empty); });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    for (const char* part : {"'twice'", "empty' has no sound entry", "no module by value", "no read-only store",
                             "'/nonexistent' was not found"}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in " << error.what();
    }
  }
  EXPECT_THROW(load_bytes(artifact, empty), Error);
  LoadableModule built =
      load_bytes(artifact, empty, [&] { return rebuild(artifact, "", options_.include_dir, empty); });
  EXPECT_EQ(built.key, artifact.key());
}

// An artifact as another host would have made it.
Artifact foreign(const Artifact& artifact, const std::string& from, const std::string& to) {
  std::string manifest = artifact.manifest();
  size_t at = manifest.find(from);
  EXPECT_NE(at, std::string::npos);
  manifest.replace(at, from.size(), to);
  std::string bytes = "ferrule artifact 1\n";
  for (const std::string& part : {manifest, artifact.source(), artifact.module()}) {
    bytes += std::to_string(part.size()) + "\n" + part;
  }
  return Artifact::from_bytes(bytes);
}

TEST_F(CompileTest, WhatThisHostCannotRunIsRebuiltOrRefused) {
  Store store(root());
  Artifact artifact = embed_module(compile_source(unit(), "", options_, store), store);
  EXPECT_EQ(unmet_needs(artifact), "");
  const std::pair<Artifact, const char*> cases[] = {
      {foreign(artifact, "\"features\":[", "\"features\":[\"avx9000\","), "CPU features that this host lacks: avx9000"},
      {foreign(artifact, "\"abi\":1", "\"abi\":7"), "it has ABI version 7, this library runs 1"},
      {foreign(artifact, "\"triplet\":\"x86_64", "\"triplet\":\"sparc64"), "it was built for sparc64, this host is"},
  };
  for (const auto& [other, reason] : cases) {
    EXPECT_NE(unmet_needs(other).find(reason), std::string::npos) << unmet_needs(other);
    try {
      load_bytes(other, store);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
    EXPECT_FALSE(
        load_bytes(other, store, [&] { return rebuild(other, "", options_.include_dir, store); }).bytes.empty());
  }
  try {
    foreign(artifact, "\"schema\":1", "\"schema\":9");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
  }
}

}  // namespace
}  // namespace ferrule
