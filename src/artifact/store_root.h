// The folder that a store lives in: where it is, whether it may be trusted, and how names in it are made.
#pragma once

#include <string>

#include "artifact/file_system.h"

namespace ferrule {

// FERRULE_CACHE_DIR, else XDG_CACHE_HOME/ferrule, else .cache/ferrule in HOME (or in the home folder of the user
// database where HOME is not set); XDG_CACHE_HOME and HOME count as absolute paths only. Empty where none of them is
// set.
std::string default_store_root();

// Why nothing under `root` may be loaded, empty where it may: it must be a folder of the current user that no group or
// others can write to, and no link on the way may belong to a third user. A root that does not exist is fine. For a
// read-only level the administrator's folders are fine too.
std::string distrust_of(const std::string& root, bool read_only, FileSystem& files);

// Paths below a root.
std::string entry_path(const std::string& root, const std::string& key);
std::string warm_path(const std::string& root, const std::string& key);
std::string lock_path(const std::string& root, const std::string& key);
std::string stamp_path(const std::string& root, const std::string& key);  // its time is that of the last use
std::string staging_root(const std::string& root);

// Makes the folders below `root` that a store needs; 0 or an errno value.
int make_layout(const std::string& root, FileSystem& files);

// A fresh name for the staging area: "<host>-<pid>-<number>", so that a sweeper can tell whose it is.
std::string staging_name();

// Removes what killed processes left in the staging area: things of this host whose process has ended and that are
// older than ten minutes, anything older than a day, kept sources of failed builds after a week.
void sweep_staging(const std::string& root, FileSystem& files);

// True iff a name in the staging area is that of a process of this host that has ended.
bool is_of_dead_process(const std::string& name);

}  // namespace ferrule
