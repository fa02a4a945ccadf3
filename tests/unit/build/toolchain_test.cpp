// Finding the compiler, asking it, and remembering its answers.
#include "build/toolchain.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "build/flags.h"
#include "build/target.h"

namespace ferrule {
namespace {

class ToolchainTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(make_private_folder(temporary_root(), "ferrule test ä ", &folder_), 0); }
  void TearDown() override { remove_tree(folder_); }

  // A stand-in compiler that counts its runs in a file beside it.
  std::string write_stub(const std::string& version, const std::string& native_line) {
    std::string path = folder_ + "/stub++";
    std::string text = "#!/bin/sh\necho run >> '" + folder_ + "/runs'\ncase \"$*\" in\n*--version*) echo '" + version +
                       "';;\n*-dumpmachine*) echo x86_64-linux-gnu;;\n*-print-prog-name*) echo none;;\n*-###*) echo '" +
                       native_line + "';;\nesac\n";
    remove_tree(path);
    EXPECT_EQ(write_new_file(path, text, 0700), 0);
    return path;
  }
  int runs() {
    std::string text;
    read_file(folder_ + "/runs", &text);
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  ProbeCache cache() {
    return {.read = [this](const std::string& key) -> std::optional<std::string> {
              auto found = answers_.find(key);
              return found == answers_.end() ? std::nullopt : std::optional(found->second);
            },
            .write = [this](const std::string& key, const std::string& value) { answers_[key] = value; }};
  }

  std::string folder_;
  std::map<std::string, std::string> answers_;
};

std::string build_message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Build);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST_F(ToolchainTest, NamesACompilerThatDoesNotExist) {
  EXPECT_EQ(build_message([] { find_toolchain("/nonexistent", {}); }),
            "The C++ compiler '/nonexistent' was not found; set CXX or install g++.");
  EXPECT_EQ(build_message([] { find_toolchain("no-such-compiler-anywhere", {}); }),
            "The C++ compiler 'no-such-compiler-anywhere' was not found; set CXX or install g++.");
}

TEST_F(ToolchainTest, NamesACompilerThatDoesNotWork) {
  std::string path = folder_ + "/broken";
  ASSERT_EQ(write_new_file(path, "#!/bin/sh\necho no licence\nexit 3\n", 0700), 0);
  std::string message = build_message([&] { find_toolchain(path, {}); });
  EXPECT_NE(message.find("broken --version' failed with exit status 3: no licence"), std::string::npos) << message;
}

TEST_F(ToolchainTest, AnswersAreAskedOnce) {
  std::string path = write_stub("stub 1", " /x/cc1plus -quiet \"-march=znver3\" -mavx2 -mno-avx512f --param \"x=1\"");
  Toolchain first = find_toolchain(path, cache());
  Target native = resolve_target("native", first, cache());
  const int asked = runs();
  EXPECT_GT(asked, 0);
  Toolchain second = find_toolchain(path, cache());
  Target again = resolve_target("native", second, cache());
  EXPECT_EQ(runs(), asked);
  EXPECT_EQ(first.identity, second.identity);
  EXPECT_EQ(native.flags, again.flags);
  EXPECT_EQ(first.version, "stub 1");
  EXPECT_EQ(native.march, "znver3");
  EXPECT_EQ(native.flags, (std::vector<std::string>{"-march=znver3", "-mavx2", "-mno-avx512f"}));

  // Another program at the same path is another compiler.
  write_stub("stub 2", " cc1plus -march=znver4");
  Toolchain third = find_toolchain(path, cache());
  EXPECT_NE(third.identity, first.identity);
  EXPECT_EQ(resolve_target("native", third, cache()).march, "znver4");
}

TEST_F(ToolchainTest, DamagedAnswersAreAskedAgain) {
  std::string path = write_stub("stub 1", " cc1plus -march=znver3");
  Toolchain first = find_toolchain(path, cache());
  for (const char* text : {"", "{", "[]", "{\"a\": 1}"}) {
    for (auto& [key, value] : answers_) value = text;
    EXPECT_EQ(find_toolchain(path, cache()).identity, first.identity);
  }
}

TEST_F(ToolchainTest, TakesALeadingWrapper) {
  std::string path = write_stub("stub 1", "");
  rename(path.c_str(), (path.substr(0, path.size() - 6) + "/plain").c_str());
  Toolchain toolchain = find_toolchain("env g++", {});
  ASSERT_EQ(toolchain.command.size(), 2u);
  EXPECT_EQ(toolchain.command[0][0], '/');
  EXPECT_EQ(toolchain.command[1], "g++");
}

TEST(Target, RealNativeIsExplicit) {
  Toolchain toolchain = find_toolchain("", {});
  Target target = resolve_target("native", toolchain, {});
  EXPECT_FALSE(target.march.empty());
  EXPECT_EQ(target.flags[0], "-march=" + target.march);
  EXPECT_NE(target.march, "native");
  EXPECT_EQ(std::count(target.flags.begin(), target.flags.end(), "-march=native"), 0);
  EXPECT_TRUE(std::is_sorted(target.features.begin(), target.features.end()));
  EXPECT_TRUE(missing_features(target.features).empty());
}

Toolchain of_triplet(const char* triplet) {
  Toolchain toolchain;
  toolchain.triplet = triplet;
  return toolchain;
}

TEST(Target, LevelsAreOrderedAndTheSameOnEveryHost) {
  const Target multi = resolve_target("multi", of_triplet("x86_64-linux-gnu"), {});
  ASSERT_EQ(multi.levels.size(), 3u);
  EXPECT_EQ(multi.features, multi.levels[0].features);
  std::vector<std::string> below;
  for (const Target& level : multi.levels) {
    EXPECT_TRUE(std::is_sorted(level.features.begin(), level.features.end()));
    EXPECT_TRUE(std::includes(level.features.begin(), level.features.end(), below.begin(), below.end()));
    EXPECT_GT(level.features.size(), below.size());
    for (const std::string& name : level.features) EXPECT_TRUE(is_told_feature(name)) << name;
    EXPECT_EQ(level.flags, std::vector<std::string>{"-march=" + level.name});
    below = level.features;
  }
  const Target baseline = resolve_target("baseline", of_triplet("x86_64-linux-gnu"), {});
  EXPECT_EQ(baseline.name, "baseline");
  EXPECT_EQ(baseline.march, "x86-64-v3");
  EXPECT_EQ(baseline.features, multi.levels[1].features);
  EXPECT_TRUE(baseline.levels.empty());
  const Target arm = resolve_target("multi", of_triplet("aarch64-linux-gnu"), {});
  ASSERT_EQ(arm.levels.size(), 1u);
  EXPECT_EQ(arm.levels[0].march, "armv8-a");
  for (const char* name : {"multi", "baseline"}) {
    EXPECT_THROW(resolve_target(name, of_triplet("sparc64-linux-gnu"), {}), Error);
  }
}

// What a level is said to need is what its code says of itself.
TEST(Target, LevelsNeedWhatTheirCodeUses) {
  const Toolchain toolchain = find_toolchain("", {});
  for (const Target& level : resolve_target("multi", toolchain, {}).levels) {
    std::vector<std::string> arguments = level.flags;
    for (const std::string& word : {std::string("-E"), std::string("-P"), std::string("-x"), std::string("c++"),
                                    std::string(FERRULE_SOURCE_DIR) + "/include/ferrule/rt/facts.h"}) {
      arguments.push_back(word);
    }
    const std::string text = ask_compiler(toolchain, arguments);
    std::vector<std::string> uses;
    for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at + 1)) {
      const size_t end = text.find('"', at + 1);
      std::string name = text.substr(at + 1, end - at - 1);
      if (!name.empty() && name.back() == ',') uses.push_back(name.substr(0, name.size() - 1));
      at = end;
    }
    std::sort(uses.begin(), uses.end());
    EXPECT_EQ(uses, level.features) << level.name;
  }
}

TEST(Target, UnknownNamesAreErrors) { EXPECT_THROW(resolve_target("fast", Toolchain{}, {}), Error); }

TEST(Target, ParsesClang) {
  Target target = parse_native(
      "clang version 16\n \"/usr/bin/clang\" \"-cc1\" \"-triple\" \"x86_64\" \"-target-cpu\" \"znver4\" "
      "\"-target-feature\" "
      "\"+sse3\" \"-target-feature\" \"-avx512fp16\" \"-target-feature\" \"+cx8\"\n",
      CompilerKind::Clang);
  EXPECT_EQ(target.march, "znver4");
  EXPECT_EQ(target.flags, (std::vector<std::string>{"-march=znver4", "-msse3", "-mno-avx512fp16"}));
}

TEST(Target, ImpliedFlagsAreDropped) {
  Target target{"native", "znver3", {"-march=znver3", "-mavx2", "-mno-avx512f", "-mshstk", "-mno-sgx"}, {}};
  drop_implied_flags("  -march=    znver3\n  -mavx2   [enabled]\n  -mavx512f \t[disabled]\n  -mshstk  [disabled]\n",
                     &target);
  EXPECT_EQ(target.flags, (std::vector<std::string>{"-march=znver3", "-mshstk", "-mno-sgx"}));
}

TEST(Target, MissingFeaturesAreNamed) {
  std::vector<std::string> needed = {"a-feature-of-no-cpu"};
  EXPECT_EQ(missing_features(needed), needed);
  EXPECT_TRUE(missing_features(host_features()).empty());
}

TEST(Flags, CxxflagsAreSplitAsAShellWould) {
  setenv("CXXFLAGS", " -O1  '-DA=b c' \"-DQ=\\\"x\\\"\" -DE=\\ y '' ", 1);
  EXPECT_EQ(environment_flags(), (std::vector<std::string>{"-O1", "-DA=b c", "-DQ=\"x\"", "-DE= y", ""}));
  unsetenv("CXXFLAGS");
  EXPECT_TRUE(environment_flags().empty());
}

TEST(Flags, HoldTheNumericalPromises) {
  Toolchain toolchain;
  Target target{"native", "x", {"-march=x"}, {}};
  std::vector<std::string> flags = code_flags(toolchain, target, {});
  for (const char* needed : {"-O3", "-march=x", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"}) {
    EXPECT_EQ(std::count(flags.begin(), flags.end(), needed), 1) << needed;
  }
  for (const std::string& flag : flags) EXPECT_EQ(flag.find("fast-math"), std::string::npos);
  EXPECT_THROW(code_flags(toolchain, target, {.mode = "quick"}), Error);
  flags = code_flags(toolchain, target, {.extra_flags = {"-O1"}});
  EXPECT_EQ(flags.back(), "-O1");
}

TEST(Flags, ModulesWithTheStandardLibraryCanBeUnmapped) {
  const Target target{"native", "x", {}, {}};
  for (const CompilerKind kind : {CompilerKind::Gcc, CompilerKind::Clang}) {
    Toolchain toolchain;
    toolchain.kind = kind;
    const std::vector<std::string> flags = code_flags(toolchain, target, {.standard_library = true});
    EXPECT_EQ(std::count(flags.begin(), flags.end(), "-fno-gnu-unique"), kind == CompilerKind::Gcc);
  }
}

}  // namespace
}  // namespace ferrule
