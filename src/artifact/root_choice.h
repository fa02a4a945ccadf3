// The folders of one store in this process: which may be read, and which one takes new files when the one that was
// asked for cannot.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "artifact/file_system.h"

namespace ferrule {

// Safe among threads.
class RootChoice {
 public:
  // `root` must be absolute, empty where no folder is known. `files` outlives this object.
  RootChoice(std::string root, bool read_only, FileSystem& files);
  ~RootChoice();
  RootChoice(const RootChoice&) = delete;

  // The root as it was given.
  const std::string& given() const { return root_; }
  std::vector<std::string> readable();
  // The root that takes new files, made on first use: the given one, or a private temporary one after a warning; else
  // empty.
  std::string writable();
  // After `error` at a write in `root`: true iff another root is there to try now.
  bool degrade(const std::string& root, int error);
  // Messages that the user should see once.
  std::vector<std::string> take_warnings();

 private:
  std::string fall_back(const std::string& reason);
  std::string make_private_root();

  const std::string root_;
  const bool read_only_;
  FileSystem& files_;

  std::mutex mutex_;           // guards what follows
  bool root_trusted_ = false;  // root_ may be read
  bool decided_ = false;       // write_root_ is known
  bool fell_back_ = false;     // a warning was given; write_root_ is private or empty
  std::string write_root_;
  std::string private_root_;  // removed at the end by the process that made it
  int private_owner_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace ferrule
