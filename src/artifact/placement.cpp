#include "artifact/placement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "artifact/file_system.h"
#include "artifact/manifest.h"
#include "artifact/store_root.h"
#include "base/error.h"
#include "base/file.h"
#include "ferrule/abi.h"

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

// What a temporary file is called: apart from the files' own names, which may be as long as names can be.
constexpr std::string_view kTemporary = ".ferrule-";

// New files beside those that they are to replace: first all are written, then all are renamed, so that a full disk
// leaves everything as it was.
class Replacement {
 public:
  explicit Replacement(const std::string& folder) : folder_(folder) {}
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    for (const Pending& each : pending_) remove_tree(each.temporary);
  }

  void add(const std::string& path, std::string_view content) {
    std::string present;
    if (FileSystem().read_file(path, &present) == 0 && present == content) return;
    require_no_folder(path);
    pending_.push_back({fmt::format("{}/{}{}", folder_, kTemporary, staging_name()), path});
    if (int error = write_new_file(pending_.back().temporary, content, 0644)) refuse(path, error);
  }

  void remove(const std::string& path) {
    require_no_folder(path);
    removed_.push_back(path);
  }

  void finish() {
    for (; !pending_.empty(); pending_.pop_front()) {
      if (int error = FileSystem().rename(pending_.front().temporary, pending_.front().path))
        refuse(pending_.front().path, error);
    }
    for (const std::string& path : removed_) {
      if (int error = remove_tree(path))
        throw user_error(fmt::format("'{}' cannot be removed: {}.", path, errno_text(error)));
    }
  }

 private:
  struct Pending {
    std::string temporary, path;
  };

  [[noreturn]] static void refuse(const std::string& path, int error) {
    throw user_error(fmt::format("'{}' cannot be written: {}.", path, errno_text(error)));
  }

  static void require_no_folder(const std::string& path) {
    FileStatus status;
    if (FileSystem().status(path, &status) == 0 && status.kind == FileKind::Folder) refuse(path, EISDIR);
  }

  std::string folder_;
  std::deque<Pending> pending_;
  std::vector<std::string> removed_;
};

// What processes left that were killed here.
void remove_rubbish(const std::string& folder) {
  std::vector<std::string> names;
  FileSystem().list(folder, &names);
  for (const std::string& name : names) {
    if (name.starts_with(kTemporary) && is_of_dead_process(name.substr(kTemporary.size())))
      remove_tree(fmt::format("{}/{}", folder, name));
  }
}

// A manifest, or one that was damaged: the files beside it are what Ferrule placed.
bool is_own_manifest(const std::string& text) {
  const auto root = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return root.is_discarded() || (root.is_object() && root.contains("schema") && root.contains("ingredients"));
}

// Names on disk are free to be taken, but not those of files that somebody else wrote: the source that a kernel is
// compiled from, say.
void require_own(const std::string& folder, const std::string& name) {
  const auto content_of = [&](const char* suffix) {
    std::string content;
    return read_file(fmt::format("{}/{}{}", folder, name, suffix), &content) == 0 ? content : "";
  };
  const std::string manifest = content_of(".json");
  if (!manifest.empty() && is_own_manifest(manifest)) return;
  for (const char* suffix : {".json", ".so", ".cpp", ".log"}) {
    const std::string content = content_of(suffix);
    if (content.empty() || content.find(FR_MODULE_SYMBOL) != std::string::npos) continue;
    throw user_error(
        fmt::format("'{}/{}{}' is there and no file of Ferrule's, so it is not replaced; give another folder.", folder,
                    name, suffix));
  }
}

}  // namespace

void place_artifact(const Artifact& artifact, const std::string& folder, const std::string& name, Layout layout,
                    std::string_view log) {
  const bool development = layout == Layout::Development;
  std::map<std::string, std::string_view> files;
  if (development) files[".cpp"] = artifact.source();
  if (development && !log.empty()) files[".log"] = log;
  files[".so"] = artifact.module();
  const FolderLock lock(folder, LOCK_EX);
  require_own(folder, name);
  remove_rubbish(folder);
  const auto path = [&](const std::string& suffix) { return fmt::format("{}/{}{}", folder, name, suffix); };
  Replacement replacement(folder);
  // The manifest comes first: it says whose the others are.
  replacement.add(path(".json"), artifact.manifest());
  for (const auto& [suffix, content] : files) replacement.add(path(suffix), content);
  for (const char* suffix : {".cpp", ".log"}) {
    if (!files.contains(suffix)) replacement.remove(path(suffix));
  }
  replacement.finish();
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
