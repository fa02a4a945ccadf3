// The store on disk: entries by key, published whole and never changed, verified on every read; and small warm records.
// No function here fails the program because the disk does: what cannot be read is a miss, what cannot be written stays
// with the caller.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/file_system.h"
#include "artifact/key.h"
#include "artifact/manifest.h"
#include "artifact/root_choice.h"
#include "artifact/single_flight.h"
#include "artifact/store_content.h"
#include "artifact/store_lock.h"
#include "build/probe.h"

namespace ferrule {

struct StoreOptions {
  bool read_only = false;                            // never write, and take no private place instead
  double lock_timeout_s = 60;                        // how long to wait for another process that builds the same
  double lock_answer_s = 5;                          // after so long without an answer, locks count as broken
  int64_t max_bytes = -1;                            // publishing removes the longest unused beyond it; -1: no limit
  std::vector<std::shared_ptr<class Store>> levels;  // read-only ones, searched after this one
  FileSystem* files = nullptr;                       // empty: the system's
};

// Safe among threads and processes.
class Store {
 public:
  // `root` must be absolute; empty means that there is no folder to use. Nothing is written before it must be.
  explicit Store(std::string root, StoreOptions options = {});
  Store(const Store&) = delete;

  // The root as it was given.
  const std::string& root() const { return roots_.given(); }

  // The verified entry, from this store or then from its levels. A damaged entry is moved aside and a miss.
  std::optional<Entry> lookup(const std::string& key);
  std::optional<Entry> lookup_here(const std::string& key);
  std::optional<Entry> lookup_levels(const std::string& key);

  // Publishes an entry by one rename. Returns the entry that readers now find under the key: this one, or the one that
  // another process published before. Empty where nothing could be stored.
  std::optional<Entry> publish(const Entry& entry);

  // A small JSON record under a key of 64 hexadecimal digits; damaged ones are missing ones.
  std::optional<std::string> read_warm(const std::string& key);
  // Replaces the record atomically; false where it could not be written.
  bool write_warm(const std::string& key, const std::string& json);

  // What this store holds, without its levels; see store_content.h. A root that may not be trusted is not looked into:
  // it has no entries, and verify() says why.
  std::vector<StoredEntry> entries();
  std::vector<std::string> warm_keys();
  Verification verify(bool repair = false);
  // Nothing is removed from a read-only store.
  Pruned prune(const PruneLimits& limits);

  // Answers of the compiler, kept as warm records.
  ProbeCache probes();

  // Waits until the lock is free, an entry appears under the key, or the limit has passed; `watch` is called meanwhile,
  // and what it throws ends the wait.
  StoreLock lock(const std::string& key, const std::function<void()>& watch = {});

  // An existing folder for temporary files of a build; empty: none in this store.
  std::string work_folder();
  // False where the work folder cannot take a file of 256 KiB: a build that failed there may do better elsewhere.
  bool has_room();

  // Messages that the user should see once, each a sentence; they are handed over once.
  std::vector<std::string> take_warnings();

  HeaderDigests& headers() { return headers_; }
  SingleFlight<Artifact>& flights() { return flights_; }

 private:
  std::optional<Entry> read_from(const std::string& root, const std::string& key);
  // 0 where `found` is what readers now see, else an errno value.
  int publish_in(const std::string& root, const Entry& entry, std::optional<Entry>* found);
  // Notes the use of what `stamp` is the stamp of, unless that was done within the last hour.
  void note_use(const std::string& stamp);
  void keep_under_cap(const std::string& root, const Entry& published);
  int move_into_place(const std::string& root, const std::string& staging, const Entry& entry,
                      std::optional<Entry>* found);
  int write_warm_in(const std::string& root, const std::string& key, const std::string& text);

  const StoreOptions options_;
  FileSystem& files_;
  RootChoice roots_;
  HeaderDigests headers_;
  SingleFlight<Artifact> flights_;

  std::mutex mutex_;  // guards what follows
  bool locks_work_ = true;
  int64_t unseen_bytes_ = -1;  // may still be published before the cap is looked after again; negative: now
};

}  // namespace ferrule
