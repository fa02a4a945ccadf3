// The functors of comparison, logic, bits and tests.
#pragma once

#include "ferrule/rt/arithmetic.h"
#include "ferrule/rt/base.h"

namespace fr {

// Comparison. int64_t with uint64_t compares the numbers, not a common type.

template <class T, class U>
inline constexpr bool is_mixed_sign = is_int<T> && is_int<U> && is_signed_int<T> != is_signed_int<U>;

template <class T, class U>
FR_INLINE bool equal(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>)
    return (x >= 0) & (uint64_t(x) == uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>)
    return (y >= 0) & (uint64_t(x) == uint64_t(y));
  else
    return x == y;
}

template <class T, class U>
FR_INLINE bool less(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>)
    return (x < 0) | (uint64_t(x) < uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>)
    return (y >= 0) & (uint64_t(x) < uint64_t(y));
  else
    return x < y;
}

template <class T, class U>
FR_INLINE bool less_equal(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>)
    return (x < 0) | (uint64_t(x) <= uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>)
    return (y >= 0) & (uint64_t(x) <= uint64_t(y));
  else
    return x <= y;
}

template <class T, class U>
FR_INLINE bool not_equal(T x, U y) {
  return !equal(x, y);
}

template <class T, class U>
FR_INLINE bool greater(T x, U y) {
  return less(y, x);
}

template <class T, class U>
FR_INLINE bool greater_equal(T x, U y) {
  return less_equal(y, x);
}

// Logic and bits

FR_INLINE bool logical_and(bool x, bool y) { return x & y; }
FR_INLINE bool logical_or(bool x, bool y) { return x | y; }
FR_INLINE bool logical_xor(bool x, bool y) { return x != y; }
FR_INLINE bool logical_not(bool x) { return !x; }

template <class T>
FR_INLINE T bitwise_and(T x, T y) {
  return T(x & y);
}

template <class T>
FR_INLINE T bitwise_or(T x, T y) {
  return T(x | y);
}

template <class T>
FR_INLINE T bitwise_xor(T x, T y) {
  return T(x ^ y);
}

template <class T>
FR_INLINE T invert(T x) {
  if constexpr (is_bool<T>)
    return !x;
  else
    return T(~x);
}

// A count outside [0, width) shifts everything out, whatever the hardware's shift would do with it.
template <class T>
FR_INLINE T left_shift(T x, T k) {
  constexpr Bits<T> width = sizeof(T) * 8;
  const bool in_range = Bits<T>(k) < width;
  return in_range ? T(Wrap<T>(x) << (in_range ? Bits<T>(k) : Bits<T>(0))) : T(0);
}

template <class T>
FR_INLINE T right_shift(T x, T k) {
  constexpr Bits<T> width = sizeof(T) * 8;
  const bool in_range = Bits<T>(k) < width;
  if constexpr (is_signed_int<T>)
    return T(x >> (in_range ? Bits<T>(k) : Bits<T>(width - 1)));
  else
    return in_range ? T(x >> (in_range ? k : T(0))) : T(0);
}

template <class T>
FR_INLINE uint8_t bitwise_count(T x) {
  return uint8_t(__builtin_popcountll(uint64_t(Bits<T>(absolute(x)))));
}

// Tests

template <class T>
FR_INLINE bool isnan(T x) {
  if constexpr (is_float<T>)
    return x != x;
  else
    return false;
}

template <class T>
FR_INLINE bool isinf(T x) {
  if constexpr (is_float<T>)
    return magnitude(x) == FloatFacts<T>::inf;
  else
    return false;
}

template <class T>
FR_INLINE bool isfinite(T x) {
  if constexpr (is_float<T>)
    return magnitude(x) < FloatFacts<T>::inf;
  else
    return true;
}

template <class T>
FR_INLINE bool signbit(T x) {
  return (to_bits(x) & FloatFacts<T>::sign) != 0;
}

}  // namespace fr
