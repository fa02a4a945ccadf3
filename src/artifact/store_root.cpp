#include "artifact/store_root.h"

#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace ferrule {
namespace {

constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kDeadAge = 600;

// The value of an environment variable where it is an absolute path.
std::string absolute_path(const char* variable) {
  const char* value = std::getenv(variable);
  return value && value[0] == '/' ? value : "";
}

std::string home_folder() {
  if (std::string home = absolute_path("HOME"); !home.empty()) return home;
  std::vector<char> buffer(4096);
  passwd record, *found = nullptr;
  if (getpwuid_r(geteuid(), &record, buffer.data(), buffer.size(), &found) != 0 || !found) return "";
  return record.pw_dir && record.pw_dir[0] == '/' && record.pw_dir[1] ? record.pw_dir : "";
}

std::string host_name() {
  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  return host;
}

// The process id in "<host>-<pid>-...", where it is of this host; else 0.
pid_t process_of(const std::string& name, const std::string& host) {
  if (name.compare(0, host.size(), host) != 0 || name[host.size()] != '-') return 0;
  pid_t process = 0;
  std::from_chars(name.data() + host.size() + 1, name.data() + name.size(), process);
  return process;
}

}  // namespace

std::string default_store_root() {
  // Taken even where it is relative, which Store refuses: a setting of the user's must not be passed over.
  if (const char* root = std::getenv("FERRULE_CACHE_DIR"); root && *root) return root;
  if (std::string cache = absolute_path("XDG_CACHE_HOME"); !cache.empty()) return cache + "/ferrule";
  std::string home = home_folder();
  return home.empty() ? "" : home + "/.cache/ferrule";
}

std::string distrust_of(const std::string& root, bool read_only, FileSystem& files) {
  for (size_t slash = root.find('/', 1); slash != std::string::npos; slash = root.find('/', slash + 1)) {
    FileStatus parent;
    if (files.status(root.substr(0, slash), &parent) != 0) continue;
    if (parent.kind == FileKind::Link && parent.owner != 0 && parent.owner != geteuid()) {
      return fmt::format("'{}' is a symbolic link of another user", root.substr(0, slash));
    }
  }
  FileStatus status;
  int error = files.status(root, &status);
  if (error == ENOENT) return "";
  if (error != 0) return errno_text(error);
  if (status.kind == FileKind::Link) return "it is a symbolic link";
  if (status.kind != FileKind::Folder) return "it is not a folder";
  if (status.owner != geteuid() && !(read_only && status.owner == 0)) return "it belongs to another user";
  if (status.mode & 022) return fmt::format("others can write to it (mode {:04o})", status.mode);
  // What lies in it may be from a time when others could write to it.
  const std::string inner = root + "/v1";
  if (files.status(inner, &status) != 0) return "";
  if (status.kind != FileKind::Folder) return fmt::format("'{}' is not a folder", inner);
  if (!is_trusted(status)) return fmt::format("others have written to '{}', or could", inner);
  return "";
}

std::string entry_path(const std::string& root, const std::string& key) {
  return fmt::format("{}/v1/{}/{}", root, key.substr(0, 2), key.substr(2));
}

std::string warm_path(const std::string& root, const std::string& key) {
  return fmt::format("{}/v1/warm/{}.json", root, key);
}

std::string lock_path(const std::string& root, const std::string& key) {
  return fmt::format("{}/v1/locks/{}.lock", root, key);
}

std::string stamp_path(const std::string& root, const std::string& key) {
  return fmt::format("{}/v1/stamps/{}", root, key);
}

std::string staging_root(const std::string& root) { return root + "/v1/tmp"; }

int make_layout(const std::string& root, FileSystem& files) {
  if (int error = files.make_folders(root)) return error;
  for (const char* name : {"/v1", "/v1/tmp", "/v1/warm", "/v1/locks", "/v1/stamps"}) {
    int error = files.make_folder(root + name);
    if (error != 0 && error != EEXIST) return error;
  }
  // Backup programs skip folders that hold this file (https://bford.info/cachedir/).
  int error = files.write_new_file(root + "/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
  return error == EEXIST ? 0 : error;
}

std::string staging_name() {
  static std::atomic<uint64_t> number = 0;
  return fmt::format("{}-{}-{}-{}", host_name(), getpid(), std::time(nullptr), number++);
}

bool is_of_dead_process(const std::string& name) {
  const pid_t process = process_of(name, host_name());
  return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

void sweep_staging(const std::string& root, FileSystem& files) {
  const std::string folder = staging_root(root);
  const int64_t now = std::time(nullptr);
  std::vector<std::string> names;
  files.list(folder, &names);
  for (const std::string& name : names) {
    FileStatus status;
    if (files.status(folder + "/" + name, &status) != 0) continue;
    const int64_t age = now - status.mtime_s;
    const int64_t limit = name.rfind("failed-", 0) == 0 ? 7 * kDay : is_of_dead_process(name) ? kDeadAge : kDay;
    if (age > limit) files.remove_tree(folder + "/" + name);
  }
}

}  // namespace ferrule
