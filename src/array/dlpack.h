// The structs of DLPack 1.3 and of its C exchange interface, as binaries agree on them. Not installed: nobody but the
// readers and writers of tensors needs them.
#pragma once

#include <cstdint>

namespace ferrule::dlpack {

constexpr uint32_t kMajor = 1, kMinor = 3;

struct Version {
  uint32_t major, minor;
};

struct Device {
  int32_t type, id;
};

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3, kRocmHost = 11, kCudaManaged = 13 };

struct DataType {
  uint8_t code, bits;  // bits of one lane; of a complex number, both parts
  uint16_t lanes;
};

enum DataTypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E5M2 = 12
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;    // may be null where ndim is 0
  int64_t* strides;  // in elements; null: dense in C order
  uint64_t byte_offset;
};

struct Managed {  // capsules named "dltensor"
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);  // may be null
};

enum Flags : uint64_t { kReadOnly = 1, kIsCopied = 2 };

// Capsules named "dltensor_versioned". Up to `flags` the layout holds for every version, after it only for kMajor.
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);  // may be null
  uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;  // the table of an older version, or null
};

// What a type's attribute __dlpack_c_exchange_api__ points to. Functions return 0, or -1 with a Python error set.
struct Exchange {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*from_object)(void* object, ManagedVersioned** out);
  int (*to_object)(ManagedVersioned* taken, void** out);
  int (*borrow)(void* object, Tensor* out);  // may be null; valid until control returns to the object's owner
  int (*stream)(int32_t device_type, int32_t device_id, void** out);
};

}  // namespace ferrule::dlpack
