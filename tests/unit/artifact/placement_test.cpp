// Files of artifacts in folders of the user's.
#include "artifact/placement.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <thread>
#include <vector>

#include "testing.h"

namespace ferrule {
namespace {

using Placement = FolderTest;

Artifact artifact_of(const std::string& source) { return Artifact(made_up_entry(source, "module of " + source), true); }

std::string problem_of(const std::string& folder, const std::string& name) {
  try {
    open_placed(folder, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_F(Placement, HasTheFilesOfItsLayout) {
  const Artifact artifact = artifact_of("one");
  place_artifact(artifact, folder_, "f", Layout::Development, "a warning");
  std::vector<std::string> names = names_in(folder_);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"f.cpp", "f.json", "f.log", "f.so"}));
  const Artifact opened = open_artifact(path("f.so"));
  EXPECT_EQ(opened.to_bytes(), artifact.to_bytes());
  EXPECT_EQ(open_artifact(path("f.json")).to_bytes(), artifact.to_bytes());

  place_artifact(artifact, folder_, "f", Layout::Production, "a warning");
  names = names_in(folder_);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"f.json", "f.so"}));
  EXPECT_EQ(open_placed(folder_, "f").source(), "");
  EXPECT_EQ(open_placed(folder_, "f"), artifact);
}

TEST_F(Placement, ReplacesFilesByNewOnes) {
  place_artifact(artifact_of("one"), folder_, "f", Layout::Development, "");
  FileStamp before, after;
  ASSERT_EQ(stamp_of(path("f.so"), &before), 0);
  place_artifact(artifact_of("one"), folder_, "f", Layout::Development, "");
  ASSERT_EQ(stamp_of(path("f.so"), &after), 0);
  EXPECT_EQ(before, after);
  place_artifact(artifact_of("two"), folder_, "f", Layout::Development, "");
  ASSERT_EQ(stamp_of(path("f.so"), &after), 0);
  EXPECT_NE(before.inode, after.inode);
  EXPECT_EQ(open_placed(folder_, "f"), artifact_of("two"));
}

TEST_F(Placement, RefusesWhatIsNotItsOwn) {
  place_artifact(artifact_of("one"), folder_, "f", Layout::Development, "");
  EXPECT_NE(problem_of(folder_, "g").find("g.json' cannot be read: No such file"), std::string::npos);
  overwrite(path("f.so"), "module of two");
  EXPECT_NE(problem_of(folder_, "f").find("content does not match its manifest"), std::string::npos);
  overwrite(path("f.so"), "");
  EXPECT_NE(problem_of(folder_, "f").find("f.so' cannot be opened: it is empty"), std::string::npos);
  overwrite(path("f.so"), "module of one");
  EXPECT_EQ(problem_of(folder_, "f"), "");
  ASSERT_EQ(chmod(path("f.cpp").c_str(), 0622), 0);
  EXPECT_NE(problem_of(folder_, "f").find("f.cpp' is not opened"), std::string::npos);
}

TEST_F(Placement, NamesWhatCannotBeWritten) {
  const auto place_in_nowhere = [&] {
    place_artifact(artifact_of("one"), path("nowhere"), "f", Layout::Production, "");
  };
  EXPECT_THROW(place_in_nowhere(), Error);
}

TEST_F(Placement, LeavesAllAsItWasWhereTheDiskIsFull) {
  place_artifact(artifact_of("one"), folder_, "f", Layout::Development, "");
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {10000, before.rlim_max};
  const Artifact large(made_up_entry("two", std::string(20000, 'x')), true);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(place_artifact(large, folder_, "f", Layout::Development, "a warning"), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(open_placed(folder_, "f"), artifact_of("one"));
  EXPECT_EQ(names_in(folder_).size(), 3);
}

TEST_F(Placement, TakesNamesAsLongAsNamesCanBe) {
  const std::string name(250, 'n');
  place_artifact(artifact_of("one"), folder_, name, Layout::Development, "");
  EXPECT_EQ(open_placed(folder_, name), artifact_of("one"));
}

TEST_F(Placement, ReadersSeeTheFilesOfOneWriter) {
  const std::vector<Artifact> both = {artifact_of("one"), artifact_of("two")};
  place_artifact(both[0], folder_, "f", Layout::Development, "");
  std::vector<std::thread> writers;
  for (const Artifact& artifact : both) {
    writers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) place_artifact(artifact, folder_, "f", Layout::Development, "");
    });
  }
  for (int round = 0; round < 200; ++round) {
    const Artifact seen = open_placed(folder_, "f");
    EXPECT_TRUE(seen == both[0] || seen == both[1]);
    EXPECT_EQ(seen.module(), "module of " + seen.source());
  }
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace ferrule
