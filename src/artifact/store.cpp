#include "artifact/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "artifact/store_root.h"
#include "artifact/warm_record.h"
#include "base/error.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

// Network file systems give these for moments after another host's rename.
bool is_passing(int error) { return error == ESTALE || error == EBUSY || error == EAGAIN; }

// Calls `action` again after passing errors, for half a second at most.
template <typename Action>
int retried(Action action) {
  int error = action();
  for (int wait : {5, 20, 75, 400}) {
    if (!is_passing(error)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    error = action();
  }
  return error;
}

// Never destroyed: a thread that waits for a lock may outlive main().
FileSystem& system_files() {
  static FileSystem& files = *new FileSystem;
  return files;
}

constexpr int64_t kStampAge = 3600;

void require_key(const std::string& key) {
  if (!is_sha256_hex(key)) {
    throw user_error(fmt::format("'{}' is not a key; a key has 64 lower-case hexadecimal digits.", key));
  }
}

}  // namespace

Store::Store(std::string root, StoreOptions options)
    : options_(std::move(options)),
      files_(options_.files ? *options_.files : system_files()),
      roots_(std::move(root), options_.read_only, files_) {}

std::optional<Entry> Store::read_from(const std::string& root, const std::string& key) {
  const std::string path = entry_path(root, key);
  // Twice: what looks damaged may have been on its way out while it was read, with a sound entry in its place by now.
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::map<std::string, std::string> files;
    int error = retried([&] {
      files.clear();
      return files_.read_folder(path, &files);
    });
    if (error == 0) {
      Entry entry;
      if (!read_entry(key, std::move(files), &entry).empty()) continue;
      note_use(stamp_path(root, key));
      return entry;
    }
    if (error != EINVAL && error != ELOOP && error != ENOTDIR && error != EPERM) {
      return std::nullopt;  // not there, or an I/O error, which says nothing about the content
    }
  }
  if (!options_.read_only) files_.rename(path, staging_root(root) + "/" + staging_name() + "-bad");
  return std::nullopt;
}

void Store::note_use(const std::string& stamp) {
  if (options_.read_only) return;
  FileStatus status;
  const int error = files_.status(stamp, &status);
  if (error == 0 ? std::time(nullptr) - status.mtime_s < kStampAge : error != ENOENT) return;
  files_.touch(stamp);  // where that cannot be, the time of publication counts
}

void Store::keep_under_cap(const std::string& root, const Entry& published) {
  if (options_.max_bytes < 0) return;
  const int64_t bytes = static_cast<int64_t>(published.module.size() + published.source.size());
  {
    std::lock_guard guard(mutex_);
    unseen_bytes_ -= bytes;
    if (unseen_bytes_ >= 0) return;
  }
  // Keys spread evenly: where the whole is beyond the limit, some shard is beyond its share, and looking at one is
  // cheap.
  const std::string entry = entry_path(root, published.key);
  if (bytes_of_shard(entry.substr(0, entry.find_last_of('/')), files_) <= options_.max_bytes / 256) return;
  const Pruned pruned = prune_root(root, files_, {.max_bytes = options_.max_bytes, .keep = published.key});
  std::lock_guard guard(mutex_);
  // Looking takes time with the size of the store, so that the next look waits for a part of what is free. Others
  // publish too, hence only a part.
  unseen_bytes_ = (options_.max_bytes - pruned.left) / 8;
}

std::optional<Entry> Store::lookup_here(const std::string& key) {
  require_key(key);
  for (const std::string& root : roots_.readable()) {
    if (std::optional<Entry> entry = read_from(root, key)) return entry;
  }
  return std::nullopt;
}

std::optional<Entry> Store::lookup_levels(const std::string& key) {
  for (const std::shared_ptr<Store>& level : options_.levels) {
    if (std::optional<Entry> entry = level->lookup(key)) return entry;
  }
  return std::nullopt;
}

std::optional<Entry> Store::lookup(const std::string& key) {
  std::optional<Entry> entry = lookup_here(key);
  return entry ? entry : lookup_levels(key);
}

std::optional<Entry> Store::publish(const Entry& entry) {
  require_key(entry.key);
  std::optional<Entry> found;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string root = roots_.writable();
    if (root.empty()) return std::nullopt;
    int error = publish_in(root, entry, &found);
    if (error == 0) {
      keep_under_cap(root, entry);
      return found;
    }
    // A winner that cannot be seen yet is no fault of the root.
    if (is_passing(error) || error == ENOENT || error == EEXIST || error == ENOTEMPTY) return std::nullopt;
    if (!roots_.degrade(root, error)) return std::nullopt;
  }
  return std::nullopt;
}

int Store::publish_in(const std::string& root, const Entry& entry, std::optional<Entry>* found) {
  const std::string staging = staging_root(root) + "/" + staging_name();
  int error = retried([&] { return files_.make_folder(staging); });
  if (error == ENOENT) {
    // The whole root was removed under us.
    if ((error = make_layout(root, files_)) == 0) error = files_.make_folder(staging);
  }
  if (error != 0) return error;
  std::map<std::string, std::string> files = files_of(entry);
  const std::string manifest = files.extract(kManifestFile).mapped();
  for (const auto& [name, content] : files) {
    if (error == 0) error = files_.write_new_file(staging + "/" + name, content);
  }
  if (error == 0) error = files_.write_new_file(staging + "/" + kManifestFile, manifest);
  if (error == 0) error = move_into_place(root, staging, entry, found);
  if (error != 0) files_.remove_tree(staging);
  return error;
}

int Store::move_into_place(const std::string& root, const std::string& staging, const Entry& entry,
                           std::optional<Entry>* found) {
  const std::string path = entry_path(root, entry.key);
  const std::string shard = path.substr(0, path.find_last_of('/'));
  int error = files_.make_folder(shard);
  if (error != 0 && error != EEXIST) return error;
  // Twice: the first loser may meet a damaged entry, which reading moves aside.
  for (int attempt = 0; attempt < 2; ++attempt) {
    error = retried([&] { return files_.rename(staging, path); });
    if (error == 0) {
      // Seen as others will see it, or else the caller had better keep its own: a network file system may hide it yet.
      *found = read_from(root, entry.key);
      return *found ? 0 : ENOENT;
    }
    if (error != ENOTEMPTY && error != EEXIST && error != ENOTDIR) return error;
    if ((*found = read_from(root, entry.key))) {
      files_.remove_tree(staging);
      return 0;
    }
  }
  return error;
}

std::optional<std::string> Store::read_warm(const std::string& key) {
  require_key(key);
  for (const std::string& root : roots_.readable()) {
    std::string text;
    if (retried([&] { return files_.read_file(warm_path(root, key), &text); }) != 0) continue;
    if (std::optional<std::string> record = record_in(text)) {
      note_use(warm_path(root, key));
      return record;
    }
  }
  for (const std::shared_ptr<Store>& level : options_.levels) {
    if (std::optional<std::string> record = level->read_warm(key)) return record;
  }
  return std::nullopt;
}

bool Store::write_warm(const std::string& key, const std::string& json) {
  require_key(key);
  const std::string text = framed_record(json);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string root = roots_.writable();
    if (root.empty()) return false;
    int error = write_warm_in(root, key, text);
    if (error == 0) return true;
    if (is_passing(error) || !roots_.degrade(root, error)) return false;
  }
  return false;
}

int Store::write_warm_in(const std::string& root, const std::string& key, const std::string& text) {
  const std::string staging = staging_root(root) + "/" + staging_name() + ".json";
  int error = retried([&] { return files_.write_new_file(staging, text); });
  if (error == ENOENT && (error = make_layout(root, files_)) == 0) error = files_.write_new_file(staging, text);
  if (error == 0) error = retried([&] { return files_.rename(staging, warm_path(root, key)); });
  if (error != 0) files_.remove_tree(staging);
  return error;
}

std::vector<StoredEntry> Store::entries() {
  std::vector<StoredEntry> out;
  for (const std::string& root : roots_.readable()) {
    for (StoredEntry& entry : list_entries(root, files_)) out.push_back(std::move(entry));
  }
  return out;
}

std::vector<std::string> Store::warm_keys() {
  std::vector<std::string> keys;
  for (const std::string& root : roots_.readable()) {
    std::vector<std::string> names;
    files_.list(root + "/v1/warm", &names);
    for (const std::string& name : names) {
      if (is_sha256_hex(name.substr(0, 64))) keys.push_back(name.substr(0, 64));
    }
  }
  return keys;
}

Verification Store::verify(bool repair) {
  Verification out;
  const std::string reason = root().empty() ? "" : distrust_of(root(), options_.read_only, files_);
  if (!reason.empty()) out.findings.push_back({"untrusted", root(), reason});
  for (const std::string& root : roots_.readable()) {
    Verification of_root = verify_root(root, files_, repair && !options_.read_only);
    out.entries += of_root.entries;
    out.records += of_root.records;
    std::move(of_root.findings.begin(), of_root.findings.end(), std::back_inserter(out.findings));
  }
  return out;
}

Pruned Store::prune(const PruneLimits& limits) {
  Pruned out;
  if (options_.read_only) return out;
  for (const std::string& root : roots_.readable()) {
    Pruned of_root = prune_root(root, files_, limits);
    remove_idle_locks(root, files_);
    out.entries += of_root.entries;
    out.records += of_root.records;
    out.freed += of_root.freed;
    out.left += of_root.left;
  }
  return out;
}

ProbeCache Store::probes() {
  return {.read = [this](const std::string& key) { return read_warm(key); },
          .write = [this](const std::string& key, const std::string& value) { write_warm(key, value); }};
}

StoreLock Store::lock(const std::string& key, const std::function<void()>& watch) {
  require_key(key);
  UniqueFd fd;
  const std::string root = roots_.writable();
  if (root.empty()) return StoreLock(&files_, std::move(fd));
  {
    std::lock_guard guard(mutex_);
    if (!locks_work_) return StoreLock(&files_, std::move(fd));
  }
  const LockRequest request{.path = lock_path(root, key),
                            .entry = entry_path(root, key),
                            .timeout_s = options_.lock_timeout_s,
                            .answer_s = options_.lock_answer_s};
  if (take_lock(files_, request, watch, &fd)) return StoreLock(&files_, std::move(fd));
  std::lock_guard guard(mutex_);
  locks_work_ = false;
  return StoreLock(&files_, std::move(fd));
}

std::string Store::work_folder() {
  const std::string root = roots_.writable();
  if (root.empty()) return "";
  FileStatus status;
  const std::string folder = staging_root(root);
  const bool there = files_.status(folder, &status) == 0 && status.kind == FileKind::Folder;
  return there || make_layout(root, files_) == 0 ? folder : "";
}

bool Store::has_room() {
  const std::string folder = work_folder();
  if (folder.empty()) return false;
  const std::string path = folder + "/" + staging_name();
  int error = files_.write_new_file(path, std::string(256 << 10, '\0'));
  files_.remove_tree(path);
  return error == 0;
}

std::vector<std::string> Store::take_warnings() {
  std::vector<std::string> out = roots_.take_warnings();
  for (const std::shared_ptr<Store>& level : options_.levels) {
    for (std::string& warning : level->take_warnings()) out.push_back(std::move(warning));
  }
  return out;
}

}  // namespace ferrule
