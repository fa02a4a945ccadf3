// What the tests of the store share: a private folder, made-up entries, and a file system that fails on demand.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "artifact/compile.h"
#include "artifact/file_system.h"
#include "artifact/manifest.h"
#include "artifact/store.h"
#include "artifact/store_root.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace ferrule {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(make_private_folder(temporary_root(), "ferrule test; ä '$(x) ", &folder_), 0); }
  void TearDown() override { remove_tree(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

inline Entry made_up_entry(const std::string& source, const std::string& module = "module bytes") {
  ManifestParts parts;
  parts.name = "made_up";
  parts.binding = "{\"args\": []}";
  parts.program = program_ingredients("program of " + source, "{}", "{}", "compiler");
  parts.entry = {ingredient("schema", "1"), ingredient("source", source)};
  parts.triplet = "x86_64-linux-gnu";
  Entry entry;
  entry.key = digest_of(parts.entry);
  entry.manifest = make_manifest(parts, module, source);
  entry.module = module;
  entry.source = source;
  entry.log = "no warnings";
  entry.local = "{\"seconds\":0.5}";
  return entry;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  FileSystem().list(folder, &names);
  return names;
}

inline void overwrite(const std::string& path, const std::string& content) {
  remove_tree(path);
  ASSERT_EQ(write_new_file(path, content), 0);
}

// Fails the calls named in `errors`: by function, `times` times (-1: always).
class FailingFiles : public FileSystem {
 public:
  struct Failure {
    int error = 0;
    int times = -1;
  };
  std::map<std::string, Failure> errors;
  std::string only_below;  // where set, only paths that begin so fail

  int make_folder(const std::string& path) override {
    int error = take("make_folder", path);
    return error ? error : FileSystem::make_folder(path);
  }
  int make_folders(const std::string& path) override {
    int error = take("make_folders", path);
    return error ? error : FileSystem::make_folders(path);
  }
  int make_private_folder(const std::string& parent, const std::string& prefix, std::string* path) override {
    int error = take("make_private_folder", parent);
    return error ? error : FileSystem::make_private_folder(parent, prefix, path);
  }
  int read_folder(const std::string& path, std::map<std::string, std::string>* files) override {
    int error = take("read_folder", path);
    return error ? error : FileSystem::read_folder(path, files);
  }
  int read_file(const std::string& path, std::string* content) override {
    int error = take("read_file", path);
    return error ? error : FileSystem::read_file(path, content);
  }
  int write_new_file(const std::string& path, std::string_view content) override {
    int error = take("write_new_file", path);
    return error ? error : FileSystem::write_new_file(path, content);
  }
  int rename(const std::string& from, const std::string& to) override {
    int error = take("rename", to);
    return error ? error : FileSystem::rename(from, to);
  }
  int try_lock(const std::string& path, UniqueFd* lock) override {
    int error = take("try_lock", path);
    return error ? error : FileSystem::try_lock(path, lock);
  }

 private:
  int take(const std::string& function, const std::string& path) {
    auto found = errors.find(function);
    if (found == errors.end() || found->second.times == 0) return 0;
    if (!only_below.empty() && path.compare(0, only_below.size(), only_below) != 0) return 0;
    if (found->second.times > 0) --found->second.times;
    return found->second.error;
  }
};

}  // namespace ferrule
