#include "array/array.h"

namespace ferrule {

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, DType dtype) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = item_size(dtype);
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

int64_t dense_bytes(DType dtype, int rank, const int64_t* shape) {
  int64_t bytes = item_size(dtype);
  for (int axis = 0; axis < rank; ++axis)
    if (shape[axis] < 0 || __builtin_mul_overflow(bytes, shape[axis], &bytes)) return -1;
  return bytes;
}

}  // namespace ferrule
