// Everything that a store asks of the file system, behind one interface, so that tests can make each of it fail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace ferrule {

enum class FileKind { File, Folder, Link, Other };

struct FileStatus {
  FileKind kind = FileKind::Other;
  uint32_t owner = 0;
  uint32_t mode = 0;  // permission bits
  int64_t mtime_s = 0;
};

// Functions return 0 or an errno value and follow no link at the last component.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int status(const std::string& path, FileStatus* status);
  virtual int make_folders(const std::string& path);
  virtual int make_folder(const std::string& path);
  virtual int make_private_folder(const std::string& parent, const std::string& prefix, std::string* path);
  virtual int list(const std::string& path, std::vector<std::string>* names);
  virtual int read_file(const std::string& path, std::string* content);
  // All files of one folder by name: a consistent view even while the folder is moved away. EINVAL where it holds
  // something that is no regular file.
  virtual int read_folder(const std::string& path, std::map<std::string, std::string>* files);
  virtual int write_new_file(const std::string& path, std::string_view content);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int remove_tree(const std::string& path);
  // Takes an exclusive advisory lock on a file that it makes where needed; EWOULDBLOCK where another has it.
  virtual int try_lock(const std::string& path, UniqueFd* lock);
  virtual void unlock(UniqueFd* lock);
};

}  // namespace ferrule
