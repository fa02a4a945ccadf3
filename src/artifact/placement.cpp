#include "artifact/placement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <thread>

#include "artifact/file_system.h"
#include "artifact/manifest.h"
#include "artifact/store_root.h"
#include "base/error.h"
#include "base/file.h"

namespace ferrule {
namespace {

constexpr auto kLockLimit = std::chrono::seconds(5);

// Several files do not change at one moment. The folder's lock keeps writers of one name apart, and readers from
// seeing the files of two; where locks do not work, a reader tells by the digests in the manifest.
class FolderLock {
 public:
  FolderLock(const std::string& folder, int kind) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto end = std::chrono::steady_clock::now() + kLockLimit;
    while (fd_ && flock(fd_.get(), kind | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR) &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  UniqueFd fd_;
};

int replace_file(const std::string& path, std::string_view content) {
  std::string present;
  if (FileSystem().read_file(path, &present) == 0 && present == content) return 0;
  const std::string temporary = fmt::format("{}.{}", path, staging_name());
  if (int error = write_new_file(temporary, content, 0644)) return error;
  const int error = FileSystem().rename(temporary, path);
  if (error != 0) remove_tree(temporary);
  return error;
}

}  // namespace

void place_artifact(const Artifact& artifact, const std::string& folder, const std::string& name, Layout layout,
                    std::string_view log) {
  const bool development = layout == Layout::Development;
  std::map<std::string, std::string_view> files;
  if (development) files[".cpp"] = artifact.source();
  if (development && !log.empty()) files[".log"] = log;
  files[".so"] = artifact.module();
  // The manifest comes last: it says what the others are.
  const FolderLock lock(folder, LOCK_EX);
  const auto write = [&](const std::string& path, std::string_view content) {
    if (int error = replace_file(path, content))
      throw user_error(fmt::format("'{}' cannot be written: {}.", path, errno_text(error)));
  };
  for (const auto& [suffix, content] : files) write(fmt::format("{}/{}{}", folder, name, suffix), content);
  write(fmt::format("{}/{}.json", folder, name), artifact.manifest());
  for (const char* suffix : {".cpp", ".log"}) {
    const std::string path = fmt::format("{}/{}{}", folder, name, suffix);
    if (files.contains(suffix)) continue;
    if (int error = remove_tree(path))
      throw user_error(fmt::format("'{}' cannot be removed: {}.", path, errno_text(error)));
  }
}

Artifact open_placed(const std::string& folder, const std::string& name) {
  std::map<std::string, std::string> files;
  const FolderLock lock(folder, LOCK_SH);
  for (const char* suffix : {".json", ".so", ".cpp"}) {
    const std::string path = fmt::format("{}/{}{}", folder, name, suffix);
    const int error = FileSystem().read_file(path, &files[suffix]);
    if (error == EPERM) {
      throw user_error(fmt::format("'{}' is not opened: it belongs to another user, or others can write to it.", path));
    }
    if (error == ENOENT && files.contains(".cpp")) continue;
    if (error != 0) throw user_error(fmt::format("'{}' cannot be read: {}.", path, errno_text(error)));
    if (files[suffix].empty()) throw user_error(fmt::format("'{}' cannot be opened: it is empty.", path));
  }
  try {
    return Artifact::from_parts(files[".json"], files[".cpp"], files[".so"]);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("'{}/{}.so' cannot be opened: {}", folder, name, error.what()));
  }
}

}  // namespace ferrule
