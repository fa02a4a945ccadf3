// Scalar arguments and results as they lie in a call: 16 bytes, the value at their beginning.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace ferrule {

struct alignas(16) ScalarSlot {
  unsigned char bytes[16];
};

template <class T>
T read_as(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

template <class T>
void write_as(void* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

// Stores the low bytes of a two's complement value; the caller has checked the range.
void store_integer(void* slot, DType integer, uint64_t bits);
// Stores a real value in a floating-point type, rounded to nearest.
void store_real(void* slot, DType real, double value);

// The value as a double; complex values give NaN, which no module may ask for.
double scalar_as_double(const void* slot, DType dtype);
// The value of an integer or bool scalar; uint64 values keep their bits.
int64_t scalar_as_int(const void* slot, DType dtype);

}  // namespace ferrule
