#include "artifact/store_content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <functional>
#include <set>

#include "artifact/manifest.h"
#include "artifact/store_root.h"
#include "artifact/warm_record.h"
#include "base/error.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

bool is_hex(const std::string& name, size_t digits) {
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::string> names_of(const std::string& folder, FileSystem& files) {
  std::vector<std::string> names;
  files.list(folder, &names);
  return names;
}

void for_each_entry(const std::string& root, FileSystem& files,
                    const std::function<void(const std::string& key, const std::string& path)>& visit) {
  for (const std::string& shard : names_of(root + "/v1", files)) {
    if (!is_hex(shard, 2)) continue;
    for (const std::string& rest : names_of(root + "/v1/" + shard, files)) {
      if (is_hex(rest, 62)) visit(shard + rest, root + "/v1/" + shard + "/" + rest);
    }
  }
}

int64_t size_of_folder(const std::string& path, FileSystem& files) {
  int64_t bytes = 0;
  for (const std::string& name : names_of(path, files)) {
    FileStatus status;
    if (files.status(path + "/" + name, &status) == 0) bytes += status.size;
  }
  return bytes;
}

int64_t last_use(const std::string& root, const std::string& key, const FileStatus& entry, FileSystem& files) {
  FileStatus stamp;
  if (files.status(stamp_path(root, key), &stamp) != 0) return entry.mtime_s;
  return std::max(entry.mtime_s, stamp.mtime_s);
}

// Out of sight first, so that no reader finds half of it.
bool take_away(const std::string& root, const std::string& path, FileSystem& files) {
  const std::string away = staging_root(root) + "/" + staging_name() + "-old";
  if (files.rename(path, away) != 0) return false;
  files.remove_tree(away);
  return true;
}

class Verifier {
 public:
  Verifier(const std::string& root, FileSystem& files, bool repair) : root_(root), files_(files), repair_(repair) {}

  Verification run() {
    static const std::set<std::string> own = {"v1", "CACHEDIR.TAG"};
    for (const std::string& name : names_of(root_, files_)) {
      if (!own.contains(name)) report("foreign", root_ + "/" + name, "it is not of the store", false);
    }
    static const std::set<std::string> folders = {"tmp", "warm", "locks", "stamps", "folders"};
    for (const std::string& name : names_of(root_ + "/v1", files_)) {
      const std::string path = root_ + "/v1/" + name;
      if (!is_hex(name, 2) && !folders.contains(name)) {
        report("foreign", path, "it is not of the store", false);
      } else if (FileStatus status; files_.status(path, &status) == 0 && status.kind != FileKind::Folder) {
        report("foreign", path, "it is no folder", false);
      } else if (is_hex(name, 2)) {
        shard(name, path);
      }
    }
    records();
    beside("locks", 64, ".lock", false);
    beside("stamps", 64, "", true);
    rubbish();
    return std::move(out_);
  }

 private:
  void report(const char* kind, const std::string& path, const std::string& problem, bool removable) {
    const bool removed = repair_ && removable && take_away(root_, path, files_);
    out_.findings.push_back({kind, path, problem, removed});
  }

  void shard(const std::string& shard, const std::string& folder) {
    for (const std::string& rest : names_of(folder, files_)) {
      const std::string path = folder + "/" + rest;
      if (!is_hex(rest, 62)) {
        report("foreign", path, "it is not the entry of a key", true);
        continue;
      }
      std::string problem = problem_of(shard + rest, path);
      if (problem == kGone) continue;
      if (problem.empty()) {
        ++out_.entries;
      } else {
        report("damaged", path, problem, true);
      }
    }
  }

  std::string problem_of(const std::string& key, const std::string& path) {
    std::map<std::string, std::string> content;
    const int error = files_.read_folder(path, &content);
    if (error == ENOENT) {
      FileStatus status;
      return files_.status(path, &status) == 0 ? "files of it vanished while it was read" : kGone;
    }
    if (error == ELOOP || error == ENOTDIR) return "it is no folder";
    if (error == EINVAL) return "it holds something that is no file";
    if (error == EPERM) return "others have written to it, or could";
    if (error != 0) return errno_text(error);
    Entry entry;
    return read_entry(key, std::move(content), &entry);
  }

  void records() {
    const std::string folder = root_ + "/v1/warm";
    for (const std::string& name : names_of(folder, files_)) {
      const std::string path = folder + "/" + name;
      if (name.size() != 69 || !is_hex(name.substr(0, 64), 64) || name.substr(64) != ".json") {
        report("foreign", path, "it is not the record of a key", true);
        continue;
      }
      std::string text;
      const int error = files_.read_file(path, &text);
      if (error == ENOENT) continue;
      if (error == 0 && record_in(text)) {
        ++out_.records;
      } else {
        report("damaged", path, error == 0 ? "it was changed" : errno_text(error), true);
      }
    }
  }

  // Files beside the entries, which are empty and named after a key.
  void beside(const std::string& what, size_t digits, const std::string& ending, bool removable) {
    const std::string folder = root_ + "/v1/" + what;
    for (const std::string& name : names_of(folder, files_)) {
      FileStatus status;
      if (files_.status(folder + "/" + name, &status) != 0) continue;
      const bool named = name.size() == digits + ending.size() && is_hex(name.substr(0, digits), digits) &&
                         name.substr(digits) == ending;
      if (!named || status.kind != FileKind::File || status.size != 0) {
        report("foreign", folder + "/" + name, "it is none of the store's empty files here", removable || !named);
      }
    }
  }

  void rubbish() {
    const std::string folder = staging_root(root_);
    for (const std::string& name : names_of(folder, files_)) {
      if (is_of_dead_process(name)) report("rubbish", folder + "/" + name, "its process has ended", true);
    }
  }

  static constexpr char kGone[] = "gone";
  const std::string& root_;
  FileSystem& files_;
  const bool repair_;
  Verification out_;
};

}  // namespace

std::vector<StoredEntry> list_entries(const std::string& root, FileSystem& files) {
  std::vector<StoredEntry> out;
  for_each_entry(root, files, [&](const std::string& key, const std::string& path) {
    FileStatus status;
    if (files.status(path, &status) != 0) return;
    StoredEntry entry{.key = key, .used_s = last_use(root, key, status, files)};
    std::string manifest;
    if (status.kind != FileKind::Folder) {
      entry.problem = "it is no folder";
    } else if (int error = files.read_file(path + "/" + kManifestFile, &manifest)) {
      entry.problem = fmt::format("its manifest cannot be read: {}", errno_text(error));
    } else {
      entry.name = name_in(manifest);
      if (entry.name.empty()) entry.problem = "its manifest is not readable";
    }
    if (status.kind == FileKind::Folder) entry.bytes = size_of_folder(path, files);
    out.push_back(std::move(entry));
  });
  return out;
}

Verification verify_root(const std::string& root, FileSystem& files, bool repair) {
  return Verifier(root, files, repair).run();
}

Pruned prune_root(const std::string& root, FileSystem& files, const PruneLimits& limits) {
  struct Item {
    std::string path, key;  // no key: a record
    int64_t bytes, used_s;
  };
  sweep_staging(root, files);
  std::vector<Item> items;
  Pruned out;
  for_each_entry(root, files, [&](const std::string& key, const std::string& path) {
    FileStatus status;
    if (files.status(path, &status) != 0) return;
    const int64_t bytes = status.kind == FileKind::Folder ? size_of_folder(path, files) : status.size;
    items.push_back({path, key, bytes, last_use(root, key, status, files)});
  });
  const std::string warm = root + "/v1/warm";
  for (const std::string& name : names_of(warm, files)) {
    FileStatus status;
    if (files.status(warm + "/" + name, &status) != 0) continue;
    items.push_back({warm + "/" + name, "", status.size, status.mtime_s});
  }
  for (const Item& item : items) out.left += item.bytes;
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return std::tie(a.used_s, a.path) < std::tie(b.used_s, b.path); });
  const int64_t oldest = limits.older_than_s < 0 ? INT64_MIN : std::time(nullptr) - limits.older_than_s;
  for (const Item& item : items) {
    const bool too_much = limits.max_bytes >= 0 && out.left > limits.max_bytes;
    if (!too_much && item.used_s >= oldest) break;
    if ((!item.key.empty() && item.key == limits.keep) || !take_away(root, item.path, files)) continue;
    if (!item.key.empty()) files.remove_tree(stamp_path(root, item.key));
    ++(item.key.empty() ? out.records : out.entries);
    out.freed += item.bytes;
    out.left -= item.bytes;
  }
  return out;
}

int64_t bytes_of_shard(const std::string& folder, FileSystem& files) {
  int64_t bytes = 0;
  for (const std::string& name : names_of(folder, files)) bytes += size_of_folder(folder + "/" + name, files);
  return bytes;
}

void remove_idle_locks(const std::string& root, FileSystem& files) {
  const std::string folder = root + "/v1/locks";
  for (const std::string& name : names_of(folder, files)) {
    UniqueFd lock;
    if (files.try_lock(folder + "/" + name, &lock) != 0) continue;
    // Who opened the file before and locks it after this has a lock of its own: one build more, nothing else.
    files.remove_tree(folder + "/" + name);
    files.unlock(&lock);
  }
}

}  // namespace ferrule
