// Running the compiler: bytes, failures, limits.
#include "build/build.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/file.h"

namespace ferrule {
namespace {

constexpr char kSource[] =
    "extern \"C\" __attribute__((visibility(\"default\"))) long twice(long x) { return 2 * x; }\n"
    "__int128 divide(__int128 a, __int128 b) { return a / b; }\n"
    "static int counter() { return __COUNTER__; } extern \"C\" int use() { return counter(); }\n";

class BuildTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(make_private_folder(temporary_root(), "ferrule test; $(x) 'ä' ", &folder_), 0);
    toolchain_ = find_toolchain("", {});
    target_ = resolve_target("native", toolchain_, {});
    options_.work_folder = folder_;
    options_.include_dir = std::string(FERRULE_SOURCE_DIR) + "/include";
  }
  void TearDown() override { remove_tree(folder_); }
  std::string make_folder(const char* name) {
    std::string path = folder_ + "/" + name;
    EXPECT_EQ(make_folders(path), 0);
    return path;
  }
  // A compiler that is the shell script `body`.
  Toolchain script(const std::string& body) {
    std::string path = folder_ + "/script";
    remove_tree(path);
    EXPECT_EQ(write_new_file(path, "#!/bin/sh\n" + body, 0700), 0);
    Toolchain toolchain = toolchain_;
    toolchain.command = {path};
    return toolchain;
  }
  std::string failure(const std::string& source, const Toolchain& toolchain) {
    try {
      build(source, toolchain, target_, options_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Build);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  std::string folder_;
  Toolchain toolchain_;
  Target target_;
  BuildOptions options_;
};

TEST_F(BuildTest, MakesALoadableModuleAndLeavesNothing) {
  Binary binary = build(kSource, toolchain_, target_, options_);
  EXPECT_GT(binary.seconds, 0);
  EXPECT_EQ(rmdir(folder_.c_str()), 0) << "something was left in the work folder";
  ASSERT_EQ(make_folders(folder_), 0);
  std::string path = folder_ + "/m.so";
  ASSERT_EQ(write_new_file(path, binary.bytes, 0700), 0);
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << dlerror();
  auto twice = reinterpret_cast<long (*)(long)>(dlsym(module, "twice"));
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice(21), 42);
  dlclose(module);
}

TEST_F(BuildTest, EqualBytesFromAnyFolder) {
  for (const char* mode : {"release", "debug"}) {
    options_.mode = mode;
    options_.work_folder = make_folder("one");
    std::string first = build(kSource, toolchain_, target_, options_).bytes;
    options_.work_folder = make_folder("a longer name");
    std::string second = build(kSource, toolchain_, target_, options_).bytes;
    EXPECT_TRUE(first == second) << mode;
    EXPECT_EQ(first.find("ferrule test"), std::string::npos) << "a folder of this machine is in the module";
  }
}

TEST_F(BuildTest, BaselineDebugAndSanitizedBuildsWork) {
  Target baseline = resolve_target("baseline", toolchain_, {});
  EXPECT_FALSE(build(kSource, toolchain_, baseline, options_).bytes.empty());
  options_.standard_library = true;
  EXPECT_FALSE(build("#include <vector>\nextern \"C\" int f() { std::vector<int> v(3); return v.at(1); }\n", toolchain_,
                     target_, options_)
                   .bytes.empty());
  options_.standard_library = false;
  options_.sanitize = "undefined";
  EXPECT_FALSE(build(kSource, toolchain_, target_, options_).bytes.empty());
}

TEST_F(BuildTest, AFailureNamesErrorSourceAndCommand) {
  std::string message = failure("int f() { return missing_name; }\n", toolchain_);
  EXPECT_NE(message.find("failed with exit status 1: source.cpp:1:18: error: "), std::string::npos) << message;
  EXPECT_NE(message.find("missing_name"), std::string::npos) << message;
  EXPECT_NE(message.find(toolchain_.command[0] + " -std=c++20 -O3"), std::string::npos) << message;
  size_t start = message.find("kept in '") + 9;
  std::string kept = message.substr(start, message.find("source.cpp'", start) + 10 - start);
  std::string text;
  EXPECT_EQ(read_file(kept, &text), 0) << kept;
  EXPECT_EQ(text, "int f() { return missing_name; }\n");
}

TEST_F(BuildTest, AnUndefinedFunctionIsABuildError) {
  std::string message = failure("int nowhere(); extern \"C\" int f() { return nowhere(); }\n", toolchain_);
  EXPECT_NE(message.find("undefined reference"), std::string::npos) << message;
}

TEST_F(BuildTest, OddEndsOfTheCompilerAreTold) {
  EXPECT_NE(failure("", script("kill -9 $$")).find("was killed by signal 9"), std::string::npos);
  EXPECT_NE(failure("", script("exit 7")).find("exit status 7: it printed nothing"), std::string::npos);
  EXPECT_NE(failure("", script("exit 0")).find("wrote no shared object"), std::string::npos);
  options_.extra_flags = {"-c"};
  EXPECT_NE(failure("int f() { return 1; }\n", toolchain_).find("wrote no shared object"), std::string::npos);
  options_.extra_flags.clear();
  Toolchain gone = toolchain_;
  gone.command = {folder_ + "/gone"};
  EXPECT_NE(failure("", gone).find("could not be started (No such file or directory)"), std::string::npos);
}

// The state letter of a process in /proc, 'X' where it is gone.
char state_of(const std::string& pid) {
  std::ifstream stream("/proc/" + pid + "/stat");
  std::string text;
  std::getline(stream, text);
  size_t end = text.rfind(") ");
  return end == std::string::npos ? 'X' : text[end + 2];
}

TEST_F(BuildTest, TheTimeLimitEndsTheWholeGroup) {
  options_.time_limit_s = 0.3;
  std::string message = failure("", script("sleep 100 &\necho $! > \"$(dirname \"$0\")/pid\"\nwait\n"));
  EXPECT_NE(message.find("did not end within 0.3 s"), std::string::npos) << message;
  std::string pid;
  ASSERT_EQ(read_file(folder_ + "/pid", &pid), 0);
  pid.pop_back();
  // A killed process still runs for a moment: only that it ends counts.
  auto ended = [&] { return state_of(pid) == 'X' || state_of(pid) == 'Z'; };
  for (int i = 0; i < 2000 && !ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(ended()) << state_of(pid);
}

TEST_F(BuildTest, AnInterruptEndsTheWholeGroupAndKeepsNothing) {
  const Toolchain slow = script("sleep 100 &\necho $! > \"$(dirname \"$0\")/pid\"\nwait\n");
  std::string pid;
  options_.watch = [&] {
    if (read_file(folder_ + "/pid", &pid) == 0 && !pid.empty()) throw Interrupted();
  };
  EXPECT_THROW(build("", slow, target_, options_), Interrupted);
  pid.pop_back();
  auto ended = [&] { return state_of(pid) == 'X' || state_of(pid) == 'Z'; };
  for (int i = 0; i < 2000 && !ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(ended()) << state_of(pid);
  std::set<std::string> left;
  for (const auto& item : std::filesystem::directory_iterator(folder_)) left.insert(item.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"pid", "script"}));
}

TEST_F(BuildTest, OnlyTheScrubbedEnvironmentReachesTheCompiler) {
  setenv("FERRULE_TEST_LEAK", "1", 1);
  std::string message = failure("", script("env | sort | tr '\\n' ' '; exit 1"));
  unsetenv("FERRULE_TEST_LEAK");
  EXPECT_EQ(message.find("FERRULE_TEST_LEAK"), std::string::npos) << message;
  EXPECT_NE(message.find("LC_ALL=C"), std::string::npos) << message;
}

TEST_F(BuildTest, WorksWhereTheHostIgnoresItsChildren) {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  Binary binary = build(kSource, toolchain_, target_, options_);
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_FALSE(binary.bytes.empty());
}

TEST_F(BuildTest, AnUnwritableWorkFolderIsNamed) {
  options_.work_folder = folder_ + "/missing";
  EXPECT_NE(failure("", toolchain_).find("/missing' (No such file or directory); set TMPDIR"), std::string::npos);
}

}  // namespace
}  // namespace ferrule
