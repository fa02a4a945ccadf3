// Arrays as plain C++ hands them to a kernel (ArrayRef) and gets them back (Array).
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

// A result: memory of its own, or a view of an argument (then `memory` is null and the argument must stay alive).
struct Array {
  std::shared_ptr<void> memory;
  void* data = nullptr;
  DType dtype = DType::F64;
  std::vector<int64_t> shape, byte_strides;

  ArrayRef ref() const {
    return {data, dtype, static_cast<int>(shape.size()), shape.data(), byte_strides.data(), true};
  }
};

// Byte strides of a dense array in C order; an axis of any extent counts, also 0 and 1.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, DType dtype);

// Bytes of a dense array of that shape; -1 when an extent is negative or the product does not fit.
int64_t dense_bytes(DType dtype, int rank, const int64_t* shape);

}  // namespace ferrule
