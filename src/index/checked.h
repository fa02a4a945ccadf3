// 64-bit arithmetic that throws an OverflowError instead of wrapping, and floored division.
#pragma once

#include <cstdint>
#include <numeric>

#include "base/error.h"

namespace ferrule::checked {

[[noreturn]] inline void overflow() {
  throw user_error("A size or index expression does not fit in 64 bits; use smaller sizes or steps.",
                   Builtin::Overflow);
}
inline int64_t add(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) overflow();
  return result;
}
inline int64_t subtract(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result)) overflow();
  return result;
}
inline int64_t multiply(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) overflow();
  return result;
}
// floor(a / b); 0 for b == 0.
inline int64_t floordiv(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return subtract(0, a);
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}
// a - floor(a / b) * b, with the sign of b; 0 for b == 0.
inline int64_t mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t remainder = a % b;
  return (remainder != 0 && (remainder < 0) != (b < 0)) ? remainder + b : remainder;
}
// base ** exponent; 0 for a negative exponent.
inline int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return 0;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  int64_t result = 1;
  for (; exponent > 0; --exponent) result = multiply(result, base);
  return result;
}
inline uint64_t magnitude(int64_t a) { return a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a); }
// Greatest common divisor of magnitudes; gcd(0, 0) == 0.
inline uint64_t gcd(uint64_t a, int64_t b) { return std::gcd(a, magnitude(b)); }

}  // namespace ferrule::checked
