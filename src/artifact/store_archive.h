// Many entries in one file, to be carried to another store: with their modules and sources, without the logs and times
// of the build. What comes out of an archive is run later, so take archives only from whom you would take programs.
#pragma once

#include <string>
#include <vector>

#include "artifact/store.h"

namespace ferrule {

struct Archived {
  int entries = 0;
  int records = 0;
};

// Writes the entries with these keys to a file, whole or not at all, over an older file; without keys all sound entries
// and warm records. Throws Error(User) where a key is not in the store or the file cannot be written.
Archived export_store(Store& store, const std::string& path, const std::vector<std::string>& keys = {});

// Publishes what an archive holds; what the store has already stays. The whole archive is verified first. Throws
// Error(User) where it is damaged or the store can take nothing.
Archived import_store(Store& store, const std::string& path);

}  // namespace ferrule
