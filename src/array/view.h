// Basic indexing: views of an array that share its memory.
#pragma once

#include <optional>
#include <vector>

#include "array/array.h"

namespace ferrule {

// One part of an index, as NumPy's basic indexing has them.
struct IndexPart {
  enum class Kind : uint8_t { Integer, Slice, Ellipsis, NewAxis };
  Kind kind;
  int64_t integer = 0;                       // Integer; from the end where it is negative
  std::optional<int64_t> start, stop, step;  // Slice
};

// Raises an IndexError for an integer outside of its axis, too many parts or a second ellipsis, a ValueError for a step
// of zero.
Array view_of(const Array& array, const std::vector<IndexPart>& index);

// The axes in reverse.
Array transposed(const Array& array);

}  // namespace ferrule
