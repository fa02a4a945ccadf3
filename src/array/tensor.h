// Between DLPack tensors and arrays. Messages of errors say what the tensor is ("is on ..."); who knows its name puts
// it before.
#pragma once

#include <optional>
#include <string>

#include "array/array.h"
#include "array/dlpack.h"

namespace ferrule {

// "CUDA device 0", "device 99:0".
std::string name_of_device(const dlpack::Device& device);

// Whether this process can read memory of the device as its own.
bool is_host_device(int32_t device_type);

std::optional<DType> dtype_of(const dlpack::DataType& type);
// Raises a BufferError for elements that are no numbers.
dlpack::DataType data_type_of(DType dtype);

// The checks that hold for every tensor: device, element type, rank, extents, strides, data. Raises a BufferError.
// After it, dtype_of() has a value.
void check_tensor(const dlpack::Tensor& tensor);

// The first element, and the byte strides of each axis; of a tensor that check_tensor() passed.
inline void* data_of(const dlpack::Tensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
}
void fill_byte_strides(const dlpack::Tensor& tensor, int64_t item, int64_t* byte_strides);

// Calls the deleter of a tensor, which may be null.
template <class Managed>
void delete_tensor(Managed* tensor) {
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

// An array over the tensor. It takes the tensor: `release` runs once, when the last copy of the array goes, or at once
// where the tensor is refused with a BufferError. Unversioned tensors are read-only, for nothing tells.
Array take_tensor(dlpack::Managed* tensor, void (*release)(dlpack::Managed*) = delete_tensor);
Array take_tensor(dlpack::ManagedVersioned* tensor, void (*release)(dlpack::ManagedVersioned*) = delete_tensor);

// The first axis whose stride DLPack cannot express, being no multiple of the item size; -1: none, also where strides
// do not matter, along one element or between none.
int unexpressible_axis(const Array& array);

// A tensor over the array, which shares its memory: byte_offset 0, strides filled. The deleter needs nothing but the
// memory's own end. `copied`: the array was made for this export.
dlpack::Managed* lend_tensor(const Array& array);
dlpack::ManagedVersioned* lend_versioned_tensor(const Array& array, bool copied);

}  // namespace ferrule
