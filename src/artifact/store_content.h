// What lies below the root of a store: listed, verified as a whole, and made smaller. For people and tools; programs
// find their entries by key. Safe beside processes that read and write the same store: each thing is moved out of sight
// by one rename before it is removed, and a mapped library does not need its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/file_system.h"

namespace ferrule {

struct StoredEntry {
  std::string key;
  std::string name;     // the program's; empty where the manifest cannot be read
  int64_t bytes = 0;    // of all its files
  int64_t used_s = 0;   // seconds since 1970, right to an hour
  std::string problem;  // what can be seen without verifying it: no manifest, a link; empty where it looks sound
};

// The entries by key. Nothing is verified.
std::vector<StoredEntry> list_entries(const std::string& root, FileSystem& files);

struct Finding {
  std::string kind;  // "damaged": an entry or record that readers refuse; "foreign": not of the store; "rubbish": left
                     // by a process that has ended
  std::string path;
  std::string problem;
  bool removed = false;
};

struct Verification {
  int entries = 0;  // sound ones
  int records = 0;
  std::vector<Finding> findings;
};

// Reads every file below the root: each must be listed in the manifest of its entry, with its size and digest, or be
// one of the store's own. `repair` removes what is damaged and what is rubbish, and foreign things beside the entries.
Verification verify_root(const std::string& root, FileSystem& files, bool repair);

struct PruneLimits {
  int64_t max_bytes = -1;     // of entries and records together; -1: no limit
  int64_t older_than_s = -1;  // goes what was not used for that long; -1: no limit
  std::string keep;           // the key of an entry that stays, whatever the limits say
};

struct Pruned {
  int entries = 0;  // removed
  int records = 0;
  int64_t freed = 0;  // bytes
  int64_t left = 0;
};

// Removes entries and warm records, the longest unused first, until the limits hold; and what killed processes left.
Pruned prune_root(const std::string& root, FileSystem& files, const PruneLimits& limits);

// Bytes of the entries in one of the folders `v1/<2 digits>`.
int64_t bytes_of_shard(const std::string& folder, FileSystem& files);

// Removes the lock files that nobody holds.
void remove_idle_locks(const std::string& root, FileSystem& files);

}  // namespace ferrule
