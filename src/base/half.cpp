#include "base/half.h"

#include <algorithm>
#include <cmath>

namespace ferrule {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
};

constexpr Format kFloat16{5, 10}, kBfloat16{8, 7};

uint16_t encode(double value, Format f) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const int largest = (1 << f.exponent_bits) - 1, bias = largest / 2;
  const auto infinity = static_cast<uint16_t>(largest << f.mantissa_bits);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | 1 << (f.mantissa_bits - 1));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  // The value in units of its last place, rounded whatever the thread's rounding mode is: what overflows the mantissa
  // carries into the exponent by itself.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::ldexp(magnitude, f.mantissa_bits - exponent);
  auto steps = static_cast<int64_t>(units);
  const double rest = units - static_cast<double>(steps);
  if (rest > 0.5 || (rest == 0.5 && steps % 2 != 0)) ++steps;
  const int64_t bits = ((static_cast<int64_t>(exponent) + bias - 1) << f.mantissa_bits) + steps;
  return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : static_cast<uint16_t>(bits)));
}

double decode(uint16_t bits, Format f) {
  const int largest = (1 << f.exponent_bits) - 1, bias = largest / 2;
  const int exponent = bits >> f.mantissa_bits & largest, mantissa = bits & ((1 << f.mantissa_bits) - 1);
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - f.mantissa_bits)
                               : std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
  if (exponent == largest) value = mantissa == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

uint16_t to_float16(double value) { return encode(value, kFloat16); }
double from_float16(uint16_t bits) { return decode(bits, kFloat16); }
uint16_t to_bfloat16(double value) { return encode(value, kBfloat16); }
double from_bfloat16(uint16_t bits) { return decode(bits, kBfloat16); }

}  // namespace ferrule
