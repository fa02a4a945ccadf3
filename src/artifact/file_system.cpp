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

}  // namespace

int FileSystem::status(const std::string& path, FileStatus* status) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return errno;
  status->kind = S_ISREG(info.st_mode)   ? FileKind::File
                 : S_ISDIR(info.st_mode) ? FileKind::Folder
                 : S_ISLNK(info.st_mode) ? FileKind::Link
                                         : FileKind::Other;
  status->owner = info.st_uid;
  status->mode = info.st_mode & 07777;
  status->mtime_s = info.st_mtim.tv_sec;
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

int FileSystem::read_file(const std::string& path, std::string* content) { return ferrule::read_file(path, content); }

int FileSystem::read_folder(const std::string& path, std::map<std::string, std::string>* files) {
  UniqueFd folder = open_folder(path);
  if (!folder) return errno;
  std::vector<std::string> names;
  if (int error = list_descriptor(folder.get(), &names)) return error;
  for (const std::string& name : names) {
    int error = read_file_at(folder.get(), name, &(*files)[name]);
    if (error == ELOOP || error == ENXIO) return EINVAL;  // a link, a socket
    if (error != 0) return error;
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
