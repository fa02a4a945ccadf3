// The files of an artifact in a folder of the user's, where other programs find them by name.
#pragma once

#include <string>
#include <string_view>

#include "artifact/artifact.h"

namespace ferrule {

enum class Layout {
  Development,  // NAME.so, NAME.json (the manifest), NAME.cpp and, where it is not empty, NAME.log
  Production,   // NAME.so and NAME.json
};

// Writes the files into an existing folder, each under a new inode, so that whoever has mapped an older file keeps it;
// files that are there already and have the content stay as they are. The artifact must have its module. Processes that
// write one name at a time exclude each other. Throws Error(User) where a file cannot be written.
void place_artifact(const Artifact& artifact, const std::string& folder, const std::string& name, Layout layout,
                    std::string_view log);

// The artifact by value from its files; without its source where the layout was Production. Throws Error(User) where a
// file is missing, was changed or may have been written by another user.
Artifact open_placed(const std::string& folder, const std::string& name);

}  // namespace ferrule
