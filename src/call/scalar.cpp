#include "call/scalar.h"

#include <limits>

#include "base/half.h"

namespace ferrule {

void store_integer(void* slot, DType integer, uint64_t bits) {
  std::memcpy(slot, &bits, static_cast<size_t>(item_size(integer)));  // little endian
}

void store_real(void* slot, DType real, double value) {
  if (real == DType::F32)
    write_as(slot, static_cast<float>(value));
  else if (real == DType::F16)
    write_as(slot, to_float16(value));
  else if (real == DType::BF16)
    write_as(slot, to_bfloat16(value));
  else
    write_as(slot, value);
}

int64_t scalar_as_int(const void* slot, DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8:
      return read_as<uint8_t>(slot);
    case DType::I8:
      return read_as<int8_t>(slot);
    case DType::I16:
      return read_as<int16_t>(slot);
    case DType::U16:
      return read_as<uint16_t>(slot);
    case DType::I32:
      return read_as<int32_t>(slot);
    case DType::U32:
      return read_as<uint32_t>(slot);
    default:
      return read_as<int64_t>(slot);
  }
}

double scalar_as_double(const void* slot, DType dtype) {
  switch (dtype) {
    case DType::F32:
      return read_as<float>(slot);
    case DType::F64:
      return read_as<double>(slot);
    case DType::U64:
      return static_cast<double>(read_as<uint64_t>(slot));
    case DType::F16:
      return from_float16(read_as<uint16_t>(slot));
    case DType::BF16:
      return from_bfloat16(read_as<uint16_t>(slot));
    case DType::C64:
    case DType::C128:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return static_cast<double>(scalar_as_int(slot, dtype));
  }
}

}  // namespace ferrule
