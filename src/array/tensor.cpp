#include "array/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "base/error.h"

namespace ferrule {
namespace {

using dlpack::DataType;

constexpr DataType kTypes[] = {{dlpack::kBool, 8, 1},         {dlpack::kInt, 8, 1},       {dlpack::kInt, 16, 1},
                               {dlpack::kInt, 32, 1},         {dlpack::kInt, 64, 1},      {dlpack::kUInt, 8, 1},
                               {dlpack::kUInt, 16, 1},        {dlpack::kUInt, 32, 1},     {dlpack::kUInt, 64, 1},
                               {dlpack::kFloat, 16, 1},       {dlpack::kBfloat, 16, 1},   {dlpack::kFloat, 32, 1},
                               {dlpack::kFloat, 64, 1},       {dlpack::kComplex, 64, 1},  {dlpack::kComplex, 128, 1},
                               {dlpack::kFloat8E4M3FN, 8, 1}, {dlpack::kFloat8E5M2, 8, 1}};

Error refused(std::string text) { return user_error(std::move(text), Builtin::Buffer); }

const char* name_of_device_type(int32_t type) {
  constexpr const char* kNames[] = {
      nullptr, "CPU",       "CUDA",      "CUDA host",    "OpenCL", nullptr,  nullptr,   "Vulkan", "Metal",   "VPI",
      "ROCm",  "ROCm host", "extension", "CUDA managed", "oneAPI", "WebGPU", "Hexagon", "MAIA",   "Trainium"};
  return type >= 0 && type < static_cast<int32_t>(std::size(kNames)) ? kNames[type] : nullptr;
}

template <class Tensor>
Array take(Tensor* managed, bool writable, void (*release)(Tensor*)) {
  std::shared_ptr<void> memory(managed, release);  // from here on it is given back whatever happens
  const dlpack::Tensor& tensor = managed->tensor;
  check_tensor(tensor);
  Array array;
  array.data = data_of(tensor);
  array.dtype = *dtype_of(tensor.dtype);
  array.shape.assign(tensor.shape, tensor.shape + (tensor.shape == nullptr ? 0 : tensor.ndim));
  array.byte_strides.resize(array.shape.size());
  fill_byte_strides(tensor, item_size(array.dtype), array.byte_strides.data());
  array.writable = writable;
  array.memory = std::move(memory);
  return array;
}

// A tensor with the array that it lends and room for its extents and strides.
template <class Managed>
struct Loan {
  Managed managed;
  Array array;
  std::vector<int64_t> strides;
};

template <class Managed>
Managed* lend(const Array& array) {
  auto loan = std::make_unique<Loan<Managed>>();
  loan->array = array;
  const int64_t item = item_size(array.dtype);
  for (const int64_t stride : array.byte_strides) loan->strides.push_back(stride / item);
  if (const int axis = unexpressible_axis(array); axis >= 0)
    throw refused(
        fmt::format("has stride {} bytes along axis {}, which is no multiple of its item size {}, so DLPack cannot "
                    "express it; pass "
                    "a .copy().",
                    array.byte_strides[static_cast<size_t>(axis)], axis, item));
  loan->managed.tensor = {array.data,
                          {dlpack::kCpu, 0},
                          array.rank(),
                          data_type_of(array.dtype),
                          loan->array.shape.data(),
                          loan->strides.data(),
                          0};
  loan->managed.context = loan.get();
  loan->managed.deleter = [](Managed* self) { delete static_cast<Loan<Managed>*>(self->context); };
  return &loan.release()->managed;
}

}  // namespace

std::string name_of_device(const dlpack::Device& device) {
  const char* name = name_of_device_type(device.type);
  return name != nullptr ? fmt::format("{} device {} (DLPack device type {})", name, device.id, device.type)
                         : fmt::format("device {} of the unknown DLPack device type {}", device.id, device.type);
}

bool is_host_device(int32_t type) {
  return type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost || type == dlpack::kCudaManaged;
}

std::optional<DType> dtype_of(const DataType& type) {
  if (type.lanes != 1) return std::nullopt;
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (type.code == kTypes[i].code && type.bits == kTypes[i].bits) return static_cast<DType>(i);
  return std::nullopt;
}

DataType data_type_of(DType dtype) {
  if (static_cast<size_t>(dtype) >= std::size(kTypes))
    throw refused(fmt::format("has elements of type {}, which DLPack cannot express.", name_of(dtype)));
  return kTypes[static_cast<size_t>(dtype)];
}

void check_tensor(const dlpack::Tensor& tensor) {
  if (!is_host_device(tensor.device.type))
    throw refused(fmt::format("is on {}, but memory of the host is expected.", name_of_device(tensor.device)));
  const std::optional<DType> dtype = dtype_of(tensor.dtype);
  if (!dtype.has_value())
    throw refused(fmt::format("has a DLPack element type that no kernel takes: code {}, bits {}, lanes {}.",
                              tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes));
  if (tensor.ndim < 0) throw refused(fmt::format("has the negative rank {}.", tensor.ndim));
  if (tensor.ndim > kMaxRank)
    throw refused(fmt::format("has rank {}, but at most {} axes can be exchanged.", tensor.ndim, kMaxRank));
  if (tensor.ndim > 0 && tensor.shape == nullptr) throw refused("has axes, but no shape.");
  int64_t bytes = item_size(*dtype), scaled = 0;
  bool empty = false, too_large = false;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    const int64_t extent = tensor.shape[axis];
    if (extent < 0) throw refused(fmt::format("has the negative extent {} of axis {}.", extent, axis));
    empty |= extent == 0;
    too_large |= __builtin_mul_overflow(bytes, extent == 0 ? 1 : extent, &bytes);
    if (tensor.strides != nullptr && extent > 1)
      too_large |= __builtin_mul_overflow(tensor.strides[axis], int64_t{item_size(*dtype)}, &scaled);
  }
  if (too_large && !empty) throw refused("has extents or strides whose bytes do not fit into 64 bits.");
  if (!empty && tensor.data == nullptr) throw refused("has elements, but no data.");
}

void fill_byte_strides(const dlpack::Tensor& tensor, int64_t item, int64_t* byte_strides) {
  int64_t dense = item;
  for (int32_t axis = tensor.ndim; axis-- > 0;) {
    // Strides that do not matter may be anything, also too large for bytes.
    const bool given = tensor.strides != nullptr && tensor.shape[axis] > 1;
    if (!given || __builtin_mul_overflow(tensor.strides[axis], item, &byte_strides[axis])) byte_strides[axis] = dense;
    if (__builtin_mul_overflow(dense, tensor.shape[axis], &dense)) dense = 0;  // an array without elements
  }
}

Array take_tensor(dlpack::Managed* tensor, void (*release)(dlpack::Managed*)) { return take(tensor, false, release); }

Array take_tensor(dlpack::ManagedVersioned* tensor, void (*release)(dlpack::ManagedVersioned*)) {
  if (tensor->version.major != dlpack::kMajor) {
    const uint32_t major = tensor->version.major, minor = tensor->version.minor;
    release(tensor);
    throw refused(fmt::format("has DLPack version {}.{}, but version {} is expected.", major, minor, dlpack::kMajor));
  }
  return take(tensor, (tensor->flags & dlpack::kReadOnly) == 0, release);
}

int unexpressible_axis(const Array& array) {
  int found = -1;
  for (size_t axis = array.shape.size(); axis-- > 0;) {
    if (array.shape[axis] == 0) return -1;
    if (array.shape[axis] > 1 && array.byte_strides[axis] % item_size(array.dtype) != 0) found = static_cast<int>(axis);
  }
  return found;
}

dlpack::Managed* lend_tensor(const Array& array) { return lend<dlpack::Managed>(array); }

dlpack::ManagedVersioned* lend_versioned_tensor(const Array& array, bool copied) {
  dlpack::ManagedVersioned* managed = lend<dlpack::ManagedVersioned>(array);
  managed->version = {dlpack::kMajor, dlpack::kMinor};
  managed->flags = 0;
  if (!array.writable) managed->flags |= dlpack::kReadOnly;
  if (copied) managed->flags |= dlpack::kIsCopied;
  return managed;
}

}  // namespace ferrule
