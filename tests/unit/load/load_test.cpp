#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../../modules/compile.h"
#include "base/error.h"
#include "load/module.h"

namespace ferrule {
namespace {

using test::compile_module;
using test::read_bytes;

// The message of the Incompatible error that loading raises; empty when it loads.
std::string refusal_of(const std::string& flags) {
  try {
    load_file(compile_module("broken.c", flags));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    return error.what();
  }
  return {};
}

TEST(Load, MapsBytesAndReadsFacts) {
  const std::string bytes = read_bytes(compile_module("add3.c"));
  const auto module = load_module(bytes, "digest-of-add3");
  EXPECT_STREQ(module->descriptor().name, "add3");
  EXPECT_EQ(module->digest(), "digest-of-add3");
  EXPECT_EQ(fact_of(module->descriptor(), "compiler"), "gcc");
  EXPECT_EQ(fact_of(module->descriptor(), "nothing"), "");
}

TEST(Load, EqualDigestsShareOneMapping) {
  const std::string path = compile_module("add3.c");
  const auto first = load_file(path), second = load_file(path);
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(first->digest().size(), 64u);
}

// Descriptor numbers are used again at once, and the dynamic linker knows libraries by the name they were opened with.
TEST(Load, ModulesLoadedOneAfterAnotherStayApart) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "total_" + std::to_string(i);
    const std::string path = compile_module("typed.c", "-DTYPE=double -DDTYPE=FR_F64 -DMODULE_NAME='\"" + name + "\"'");
    EXPECT_EQ(load_file(path)->descriptor().name, name);
  }
}

TEST(Load, ManyThreadsGetOneModule) {
  const std::string bytes = read_bytes(compile_module("strided.c"));
  std::vector<std::shared_ptr<const Module>> found(8);
  std::vector<std::thread> threads;
  for (auto& slot : found) threads.emplace_back([&] { slot = load_module(bytes, "strided"); });
  for (auto& thread : threads) thread.join();
  for (const auto& module : found) EXPECT_EQ(module.get(), found[0].get());
}

TEST(Load, AcceptsALaterMinorVersion) { EXPECT_EQ(refusal_of(""), ""); }

TEST(Load, RefusesAnotherMagic) {
  EXPECT_NE(refusal_of("-DBREAK_MAGIC").find("not a Ferrule module"), std::string::npos);
}

TEST(Load, RefusesAnotherMajorVersion) {
  EXPECT_NE(refusal_of("-DBREAK_MAJOR").find("ABI version 2.7, but this library runs 1.x"), std::string::npos);
}

TEST(Load, RefusesAShortDescriptor) { EXPECT_NE(refusal_of("-DBREAK_SIZE").find("descriptor of"), std::string::npos); }

TEST(Load, RefusesAMissingEntryPoint) { EXPECT_NE(refusal_of("-DBREAK_RUN").find("entry point"), std::string::npos); }

TEST(Load, RefusesATableThatIsNotThere) {
  EXPECT_NE(refusal_of("-DBREAK_TABLE").find("says that it has 2 arguments but does not list them"), std::string::npos);
}

TEST(Load, RefusesShortEntriesAndEntriesOfDifferentSizes) {
  EXPECT_NE(refusal_of("-DFIRST_SIZE=8 -DSECOND_SIZE=8").find("its arguments in 8 bytes each"), std::string::npos);
  EXPECT_NE(refusal_of("-DSECOND_SIZE=8").find("its arguments in entries of different sizes"), std::string::npos);
}

TEST(Load, RefusesFeaturesThatTheHostLacks) {
  EXPECT_NE(refusal_of("-DBREAK_FEATURES").find("flux-capacitor"), std::string::npos);
}

TEST(Load, RefusesWhatIsNoLibrary) {
  for (const std::string& bytes : {std::string("not a library"), std::string()}) {
    try {
      load_module(bytes, "no-library-" + std::to_string(bytes.size()));
      FAIL() << "loaded " << bytes.size() << " bytes of nonsense";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    }
  }
}

TEST(Load, NamesAFileThatIsMissing) {
  try {
    load_file("/nonexistent/module.so");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'/nonexistent/module.so' cannot be read: No such file"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ferrule
