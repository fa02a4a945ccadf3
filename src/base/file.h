// Small file helpers that report by errno value: 0 is success. Nothing here follows a symbolic link at the last
// component, and every descriptor is closed on exec.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ferrule {

// Owns a file descriptor; -1 is none.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_;
};

// What tells two states of a file apart without reading it.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Stamp of the file that `path` leads to (links followed).
int stamp_of(const std::string& path, FileStamp* stamp);

// Whole content of a regular file; EFBIG beyond `limit` bytes, EINVAL where it is no regular file.
int read_file(const std::string& path, std::string* content, int64_t limit = int64_t{1} << 31);
// The same for `name` in the open folder `folder`.
int read_file_at(int folder, const std::string& name, std::string* content, int64_t limit = int64_t{1} << 31);

// Writes a file that must not exist yet; removes it again where the write fails.
int write_new_file(const std::string& path, std::string_view content, uint32_t mode = 0600);

// mkdir -p; the folders that it makes have mode 0700.
int make_folders(const std::string& path);

// Removes a file, link or folder with all that is in it; links are not followed. ENOENT is success.
int remove_tree(const std::string& path);

// Makes a fresh folder `parent`/`prefix`XXXXXX of mode 0700 and stores its path.
int make_private_folder(const std::string& parent, const std::string& prefix, std::string* path);

// TMPDIR where it is an absolute path, else "/tmp".
std::string temporary_root();

// The message of an errno value, for example "Permission denied". Safe among threads.
std::string errno_text(int error);

}  // namespace ferrule
