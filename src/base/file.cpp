#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

namespace ferrule {
namespace {

int read_descriptor(int fd, std::string* content, int64_t limit) {
  struct stat info;
  if (fstat(fd, &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  if (info.st_size > limit) return EFBIG;
  content->clear();
  // One byte more than the size, so that a single read sees the end of the file.
  content->resize(static_cast<size_t>(info.st_size) + 1);
  size_t filled = 0;
  for (;;) {
    ssize_t got = read(fd, content->data() + filled, content->size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (static_cast<int64_t>(filled) > limit) return EFBIG;
    if (filled == content->size()) content->resize(2 * filled);
  }
  content->resize(filled);
  return 0;
}

int write_descriptor(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t put = write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    content.remove_prefix(static_cast<size_t>(put));
  }
  return 0;
}

int remove_tree_at(int parent, const char* name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  UniqueFd folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return errno == ENOENT ? 0 : errno;
  DIR* stream = fdopendir(dup(folder.get()));
  if (!stream) return errno;
  std::vector<std::string> names;
  while (dirent* item = readdir(stream)) {
    std::string_view found = item->d_name;
    if (found != "." && found != "..") names.emplace_back(found);
  }
  closedir(stream);
  int first = 0;
  for (const std::string& child : names) {
    int error = remove_tree_at(folder.get(), child.c_str());
    if (first == 0) first = error;
  }
  if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT && first == 0) first = errno;
  return first;
}

}  // namespace

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void UniqueFd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

int stamp_of(const std::string& path, FileStamp* stamp) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return errno;
  stamp->device = info.st_dev;
  stamp->inode = info.st_ino;
  stamp->size = info.st_size;
  stamp->mtime_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
  return 0;
}

int read_file(const std::string& path, std::string* content, int64_t limit) {
  return read_file_at(AT_FDCWD, path, content, limit);
}

int read_file_at(int folder, const std::string& name, std::string* content, int64_t limit) {
  // O_NONBLOCK: a FIFO in the place of a file must not hang us.
  UniqueFd fd(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno;
  return read_descriptor(fd.get(), content, limit);
}

int write_new_file(const std::string& path, std::string_view content, uint32_t mode) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return errno;
  int error = write_descriptor(fd, content);
  // A full disk or quota may show only here on network file systems.
  if (close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  if (error != 0) unlink(path.c_str());
  return error;
}

int make_folders(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return 0;
  if (errno == EEXIST) return 0;
  if (errno != ENOENT) return errno;
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos || slash == 0) return ENOENT;
  if (int error = make_folders(path.substr(0, slash))) return error;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

int remove_tree(const std::string& path) {
  int error = 0;
  // Network file systems give these for moments, and what stays would stay for long.
  for (int attempt = 0; attempt < 3; ++attempt) {
    error = remove_tree_at(AT_FDCWD, path.c_str());
    if (error != ESTALE && error != EBUSY && error != ENOTEMPTY) break;
  }
  return error;
}

int make_private_folder(const std::string& parent, const std::string& prefix, std::string* path) {
  std::string name = parent + "/" + prefix + "XXXXXX";
  if (!mkdtemp(name.data())) return errno;
  *path = std::move(name);
  return 0;
}

std::string temporary_root() {
  const char* named = std::getenv("TMPDIR");
  return named && named[0] == '/' ? named : "/tmp";
}

std::string errno_text(int error) { return std::generic_category().message(error); }

}  // namespace ferrule
