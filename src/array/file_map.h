// A file's bytes as an array: what is written is in the file, and other processes that map it see it.
#pragma once

#include <string>

#include "array/array.h"

namespace ferrule {

enum class MapMode {
  Read,        // of an existing file; the array is read-only
  Write,       // of an existing file, which grows to hold the array
  Create,      // of a new file, or one that is emptied first
  CopyOnWrite  // of an existing file, which stays as it is
};

// An array in C order over the file from byte `offset`, which may be any; other processes must not shorten the file
// meanwhile. Raises std::system_error where the system refuses the file, a ValueError where it is too short or the
// offset is negative.
Array map_file(const std::string& path, DType dtype, std::vector<int64_t> shape, int64_t offset, MapMode mode);

}  // namespace ferrule
