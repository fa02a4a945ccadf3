// Conversions between element types with NumPy's values on x86-64, defined for every input.
//
// Floating point to integer truncates towards zero. Out of range (NaN included) the value is what NumPy computes on
// x86-64: int32 and int64 give their minimum; narrower integers take the low bits of the int32; an unsigned 32- or
// 64-bit integer is the signed conversion below 2**(bits - 1), and from there on that of x - 2**(bits - 1) with the top
// bit flipped.
#pragma once

#include "ferrule/rt/base.h"

namespace fr {

template <class F>
FR_INLINE int32_t truncate_to_int32(F x) {
  // The float form has no number in (-2**31 - 1, -2**31), so both bounds mean "truncates into range".
  const F low = sizeof(F) == 8 ? F(-2147483649.0) : F(-2147483904.0f);
  const bool in_range = (x > low) & (x < F(2147483648.0));
  return in_range ? int32_t(in_range ? x : F(0)) : INT32_MIN;
}

template <class F>
FR_INLINE int64_t truncate_to_int64(F x) {
  const bool in_range = (x >= F(-0x1p63)) & (x < F(0x1p63));
  return in_range ? int64_t(in_range ? x : F(0)) : INT64_MIN;
}

template <class F>
FR_INLINE uint32_t truncate_to_uint32(F x) {
  const uint32_t low = uint32_t(truncate_to_int32(x));
  const uint32_t high = uint32_t(truncate_to_int32(x - F(0x1p31))) ^ 0x80000000u;
  return x >= F(0x1p31) ? high : low;
}

template <class F>
FR_INLINE uint64_t truncate_to_uint64(F x) {
  const uint64_t low = uint64_t(truncate_to_int64(x));
  const uint64_t high = uint64_t(truncate_to_int64(x - F(0x1p63))) ^ 0x8000000000000000u;
  return x >= F(0x1p63) ? high : low;
}

// int64_t or uint64_t to double with one rounding, through the two halves as doubles of their own: the conversion as
// one instruction exists only in AVX-512.
template <class T>
FR_INLINE double wide_to_double(T x) {
#ifdef __AVX512DQ__
  return double(x);
#else
  // 2**52 + low half, and 2**84 + high half (+ 2**63 when signed), built from their bits.
  constexpr bool is_signed = is_signed_int<T>;
  const uint64_t u = uint64_t(x);
  const double low = from_bits<double>((u & 0xffffffffu) | 0x4330000000000000u);
  const double high = from_bits<double>((u >> 32) ^ (is_signed ? 0x4530000080000000u : 0x4530000000000000u));
  return (high - (is_signed ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52)) + low;
#endif
}

// x as To.
template <class To, class From>
FR_INLINE To cast(From x) {
  if constexpr (is_bool<To> && is_bool<From>) {
    return x;
  } else if constexpr (is_bool<To>) {
    return x != From(0);
  } else if constexpr (is_bool<From>) {
    return x ? To(1) : To(0);
  } else if constexpr (is_int<From> && sizeof(From) == 8 && __is_same(To, double)) {
    return wide_to_double(x);
  } else if constexpr (is_float<From> && !is_float<To>) {
    if constexpr (sizeof(To) < 4 || __is_same(To, int32_t)) {
      return To(truncate_to_int32(x));
    } else if constexpr (__is_same(To, uint32_t)) {
      return truncate_to_uint32(x);
    } else if constexpr (__is_same(To, int64_t)) {
      return truncate_to_int64(x);
    } else {
      return truncate_to_uint64(x);
    }
  } else {
    return To(x);
  }
}

}  // namespace fr
