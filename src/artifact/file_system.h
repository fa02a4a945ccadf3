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
  int64_t size = 0;
  int64_t mtime_s = 0;
};

// True iff nobody but the current user and the administrator can have written it.
bool is_trusted(const FileStatus& status);

// Functions return 0 or an errno value and follow no link at the last component.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int status(const std::string& path, FileStatus* status);
  virtual int make_folders(const std::string& path);
  virtual int make_folder(const std::string& path);
  virtual int make_private_folder(const std::string& parent, const std::string& prefix, std::string* path);
  virtual int list(const std::string& path, std::vector<std::string>* names);
  // Of a regular file that is trusted; EPERM where it is not.
  virtual int read_file(const std::string& path, std::string* content);
  // All files of one folder by name: a consistent view even while the folder is moved away. EINVAL where it holds
  // something that is no regular file, EPERM where the folder or a file is not trusted.
  virtual int read_folder(const std::string& path, std::map<std::string, std::string>* files);
  virtual int write_new_file(const std::string& path, std::string_view content);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int remove_tree(const std::string& path);
  // Gives a file, made where needed, the time of now.
  virtual int touch(const std::string& path);
  // Takes an exclusive advisory lock on a file that it makes where needed; EWOULDBLOCK where another has it.
  virtual int try_lock(const std::string& path, UniqueFd* lock);
  virtual void unlock(UniqueFd* lock);
};

}  // namespace ferrule
