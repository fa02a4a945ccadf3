// Whether two strided arrays touch a common byte.
#pragma once

#include <cstdint>

namespace ferrule {

// Memory of an array as bytes; extents and byte strides have `rank` entries.
struct Strided {
  const char* data;  // first element in logical order
  int64_t item;
  int rank;
  const int64_t* shape;
  const int64_t* byte_strides;
};

// The bytes [low, high) that the array lies in; both null for an array without elements, which meets nothing.
struct Range {
  const char* low;
  const char* high;
};

inline Range range_of(const Strided& a) {
  const char* low = a.data;
  const char* high = a.data + a.item;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.shape[axis] == 0) return {nullptr, nullptr};
    const int64_t reach = (a.shape[axis] - 1) * a.byte_strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

// The same for an array whose elements lie without gaps in C or F order.
inline Range dense_range(const void* data, int64_t item, int rank, const int64_t* shape) {
  int64_t bytes = item;
  for (int axis = 0; axis < rank; ++axis) bytes *= shape[axis];
  const char* low = bytes != 0 ? static_cast<const char*>(data) : nullptr;
  return {low, low + bytes};
}

inline bool ranges_meet(const Range& a, const Range& b) { return a.low < b.high && b.low < a.high; }

// Same data, extents and strides (of axes longer than 1).
bool identical(const Strided& a, const Strided& b);

// For arrays whose ranges meet: false only if it is certain that no byte is in both, such as a[::2] and a[1::2] or two
// blocks of columns. Exact within a bounded amount of work, true beyond it.
bool may_share_bytes(const Strided& a, const Strided& b);

// Whether two different elements of the array may lie on common bytes; exact for strides that nest, true otherwise.
bool may_overlap_itself(const Strided& a);

}  // namespace ferrule
