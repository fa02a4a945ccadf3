// Integer helpers of index expressions over int64_t, with the meaning that sizes have everywhere in Ferrule: division
// and remainder are floored and give 0 for a divisor of 0, arithmetic wraps.
#pragma once

#include "ferrule/rt/base.h"

// floor(x / y); 0 for y == 0; wraps for INT64_MIN / -1.
FR_INLINE int64_t fr_floordiv(int64_t x, int64_t y) {
  if (y == 0) return 0;
  if (y == -1) return int64_t(0 - uint64_t(x));
  const int64_t q = x / y, r = x % y;
  return q - int64_t((r != 0) & ((r < 0) != (y < 0)));
}

// x - floor(x / y) * y, with the sign of y; 0 for y == 0.
FR_INLINE int64_t fr_mod(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  const int64_t r = x % y;
  return ((r != 0) & ((r < 0) != (y < 0))) ? r + y : r;
}

FR_INLINE int64_t fr_min(int64_t x, int64_t y) { return y < x ? y : x; }
FR_INLINE int64_t fr_max(int64_t x, int64_t y) { return y > x ? y : x; }
// The bytes of `extent` times as much; -1 where they do not fit into 64 bits, and from then on.
FR_INLINE int64_t fr_bytes(int64_t bytes, int64_t extent) {
  int64_t product;
  return bytes < 0 || extent < 0 || __builtin_mul_overflow(bytes, extent, &product) ? -1 : product;
}

// x ** n with wrap-around; 0 for n < 0.
FR_INLINE int64_t fr_ipow(int64_t x, int64_t n) {
  uint64_t result = n < 0 ? 0 : 1;
  for (uint64_t base = uint64_t(x); n > 0; n >>= 1, base *= base) {
    if (n & 1) result *= base;
  }
  return int64_t(result);
}
