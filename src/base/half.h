// Conversions between double and the 16-bit floating-point types, which are stored as their bits.
#pragma once

#include <cstdint>

namespace ferrule {

// IEEE binary16: 5 exponent bits, 10 of the mantissa. Rounded once, to nearest, ties to even; beyond the range
// infinity.
uint16_t to_float16(double value);
double from_float16(uint16_t bits);

// The upper half of a float32: 8 exponent bits, 7 of the mantissa. Rounded in the same way.
uint16_t to_bfloat16(double value);
double from_bfloat16(uint16_t bits);

}  // namespace ferrule
