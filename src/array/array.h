// Arrays as plain C++ hands them to a kernel (ArrayRef) and gets them back (Array), and as every way of exchange reads
// and makes them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"

namespace ferrule {

// A borrowed array; everything it points to outlives the call. `data` is the first element in logical order.
struct ArrayRef {
  void* data = nullptr;
  DType dtype = DType::F64;
  int rank = 0;
  const int64_t* shape = nullptr;         // rank of them
  const int64_t* byte_strides = nullptr;  // rank of them; null for C order
  bool writable = true;
};

// An array that keeps its memory alive: memory of its own, or what another owner lent. Copies share the memory. Of
// kernels' results, `memory` is null for a view of an argument, which must stay alive then.
struct Array {
  std::shared_ptr<void> memory;
  void* data = nullptr;  // the first element in logical order
  DType dtype = DType::F64;
  std::vector<int64_t> shape, byte_strides;  // one per axis
  bool writable = true;

  int rank() const { return static_cast<int>(shape.size()); }
  ArrayRef ref() const { return {data, dtype, rank(), shape.data(), byte_strides.data(), writable}; }
};

// Byte strides of a dense array in C order; an axis of any extent counts, also 0 and 1.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, DType dtype);

// Bytes of a dense array of that shape; -1 when an extent is negative or the product does not fit.
int64_t dense_bytes(DType dtype, int rank, const int64_t* shape);

// The number of elements.
int64_t element_count(const Array& array);

// Whether the elements lie densely in C order; axes of one element have no stride, arrays without elements pass.
bool is_dense(const Array& array);

// A new array in C order with memory of its own, 64-byte aligned, contents undefined. Raises a ValueError for a shape
// whose bytes do not fit into 63 bits or that has more than `kMaxRank` axes, a MemoryError where the system has no
// memory.
Array make_array(DType dtype, std::vector<int64_t> shape);
constexpr int kMaxRank = 64;

// The same values in a new array in C order, which is writable.
Array copy_of(const Array& array);

}  // namespace ferrule
