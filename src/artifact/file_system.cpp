#include "artifact/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace ferrule {
namespace {

int list_descriptor(int folder, std::vector<std::string>* names) {
  int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return errno;
  DIR* stream = fdopendir(copy);
  if (!stream) {
    close(copy);
    return errno;
  }
  errno = 0;
  while (dirent* item = readdir(stream)) {
    std::string_view name = item->d_name;
    if (name != "." && name != "..") names->emplace_back(name);
  }
  int error = errno;
  closedir(stream);
  std::sort(names->begin(), names->end());
  return error;
}

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

FileStatus status_of(const struct stat& info) {
  FileStatus status;
  status.kind = S_ISREG(info.st_mode)   ? FileKind::File
                : S_ISDIR(info.st_mode) ? FileKind::Folder
                : S_ISLNK(info.st_mode) ? FileKind::Link
                                        : FileKind::Other;
  status.owner = info.st_uid;
  status.mode = info.st_mode & 07777;
  status.size = info.st_size;
  status.mtime_s = info.st_mtim.tv_sec;
  return status;
}

// Reads `name` in the open folder `folder`. Who could put another file there between the look and the read owns the
// folder.
int read_trusted(int folder, const std::string& name, std::string* content) {
  struct stat info;
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  if (!is_trusted(status_of(info))) return EPERM;
  int error = read_file_at(folder, name, content);
  return error == ELOOP || error == ENXIO ? EINVAL : error;  // a link, a socket
}

}  // namespace

bool is_trusted(const FileStatus& status) {
  return (status.owner == geteuid() || status.owner == 0) && (status.mode & 022) == 0;
}

int FileSystem::status(const std::string& path, FileStatus* status) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return errno;
  *status = status_of(info);
  return 0;
}

int FileSystem::make_folders(const std::string& path) { return ferrule::make_folders(path); }

int FileSystem::make_folder(const std::string& path) { return mkdir(path.c_str(), 0700) == 0 ? 0 : errno; }

int FileSystem::make_private_folder(const std::string& parent, const std::string& prefix, std::string* path) {
  return ferrule::make_private_folder(parent, prefix, path);
}

int FileSystem::list(const std::string& path, std::vector<std::string>* names) {
  UniqueFd folder = open_folder(path);
  if (!folder) return errno;
  return list_descriptor(folder.get(), names);
}

int FileSystem::read_file(const std::string& path, std::string* content) {
  return read_trusted(AT_FDCWD, path, content);
}

int FileSystem::read_folder(const std::string& path, std::map<std::string, std::string>* files) {
  UniqueFd folder = open_folder(path);
  if (!folder) return errno;
  struct stat info;
  if (fstat(folder.get(), &info) != 0) return errno;
  if (!is_trusted(status_of(info))) return EPERM;
  std::vector<std::string> names;
  if (int error = list_descriptor(folder.get(), &names)) return error;
  for (const std::string& name : names) {
    if (int error = read_trusted(folder.get(), name, &(*files)[name])) return error;
  }
  return 0;
}

int FileSystem::write_new_file(const std::string& path, std::string_view content) {
  return ferrule::write_new_file(path, content);
}

int FileSystem::rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int FileSystem::remove_tree(const std::string& path) { return ferrule::remove_tree(path); }

int FileSystem::touch(const std::string& path) {
  if (utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) return 0;
  return errno == ENOENT ? ferrule::write_new_file(path, "") : errno;
}

int FileSystem::try_lock(const std::string& path, UniqueFd* lock) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return errno;
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return errno;
  *lock = std::move(fd);
  return 0;
}

void FileSystem::unlock(UniqueFd* lock) {
  // Explicitly: a process forked meanwhile holds the descriptor too, and closing ours alone would not release it.
  if (*lock) flock(lock->get(), LOCK_UN);
  lock->reset();
}

}  // namespace ferrule
