#include "array/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "array/memory.h"
#include "base/error.h"

namespace ferrule {
namespace {

// Copies axis `axis` and those after it to dense memory; returns where the next element goes.
char* copy_axes(const Array& array, size_t axis, const char* from, char* to) {
  const auto item = static_cast<size_t>(item_size(array.dtype));
  if (axis == array.shape.size()) {
    std::memcpy(to, from, item);
    return to + item;
  }
  const int64_t extent = array.shape[axis], stride = array.byte_strides[axis];
  if (axis + 1 == array.shape.size() && stride == static_cast<int64_t>(item)) {
    std::memcpy(to, from, item * static_cast<size_t>(extent));
    return to + item * static_cast<size_t>(extent);
  }
  for (int64_t i = 0; i < extent; ++i) to = copy_axes(array, axis + 1, from + i * stride, to);
  return to;
}

}  // namespace

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape, DType dtype) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = item_size(dtype);
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    if (__builtin_mul_overflow(stride, shape[axis], &stride)) stride = 0;  // only of arrays without elements
  }
  return strides;
}

int64_t dense_bytes(DType dtype, int rank, const int64_t* shape) {
  int64_t bytes = item_size(dtype);
  for (int axis = 0; axis < rank; ++axis)
    if (shape[axis] < 0 || __builtin_mul_overflow(bytes, shape[axis], &bytes)) return -1;
  return bytes;
}

int64_t element_count(const Array& array) {
  int64_t count = 1;
  for (const int64_t extent : array.shape) count *= extent;
  return count;
}

bool is_dense(const Array& array) {
  if (element_count(array) == 0) return true;
  int64_t expected = item_size(array.dtype);
  for (size_t axis = array.shape.size(); axis-- > 0; expected *= array.shape[axis])
    if (array.shape[axis] > 1 && array.byte_strides[axis] != expected) return false;
  return true;
}

Array make_array(DType dtype, std::vector<int64_t> shape) {
  if (shape.size() > static_cast<size_t>(kMaxRank))
    throw user_error(fmt::format("An array has at most {} axes, got {}.", kMaxRank, shape.size()));
  for (const int64_t extent : shape)
    if (extent < 0)
      throw user_error(
          fmt::format("Extents are not negative, got ({}{}).", fmt::join(shape, ", "), shape.size() == 1 ? "," : ""));
  const int64_t bytes = dense_bytes(dtype, static_cast<int>(shape.size()), shape.data());
  if (bytes < 0)
    throw user_error(fmt::format("An array of shape ({}) has more than 2**63 bytes.", fmt::join(shape, ", ")));
  Array array;
  array.memory = std::shared_ptr<void>(allocate_memory(bytes));
  if (array.memory == nullptr)
    throw user_error(fmt::format("{} bytes of memory cannot be had.", bytes), Builtin::Memory);
  array.data = array.memory.get();
  array.dtype = dtype;
  array.byte_strides = dense_strides(shape, dtype);
  array.shape = std::move(shape);
  return array;
}

Array copy_of(const Array& array) {
  Array copy = make_array(array.dtype, array.shape);
  if (element_count(array) > 0)
    copy_axes(array, 0, static_cast<const char*>(array.data), static_cast<char*>(copy.data));
  return copy;
}

}  // namespace ferrule
