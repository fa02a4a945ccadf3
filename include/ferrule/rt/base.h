// The scalar vocabulary of emitted code: fixed-width names, type facts, bit casts. No standard library, so that an
// emitted file parses in a few milliseconds.
#pragma once

#include <stdint.h>

// Functors are templates forced inline: a loop that calls one vectorises as if the expression stood there.
#define FR_INLINE inline __attribute__((always_inline))

namespace fr {

template <class T>
inline constexpr bool is_bool = __is_same(T, bool);
template <class T>
inline constexpr bool is_float = __is_same(T, double) || __is_same(T, float);
template <class T>
inline constexpr bool is_signed_int = !is_float<T> && T(-1) < T(0);
template <class T>
inline constexpr bool is_int = !is_float<T> && !is_bool<T>;

template <int bytes>
struct SizedInt;
template <>
struct SizedInt<1> {
  using Signed = int8_t;
  using Unsigned = uint8_t;
};
template <>
struct SizedInt<2> {
  using Signed = int16_t;
  using Unsigned = uint16_t;
};
template <>
struct SizedInt<4> {
  using Signed = int32_t;
  using Unsigned = uint32_t;
};
template <>
struct SizedInt<8> {
  using Signed = int64_t;
  using Unsigned = uint64_t;
};

// The unsigned integer with the bits of T.
template <class T>
using Bits = typename SizedInt<sizeof(T)>::Unsigned;
// The signed integer with the bits of T.
template <class T>
using SignedBits = typename SizedInt<sizeof(T)>::Signed;
// The unsigned type in which T's integer arithmetic wraps. At least 32 bits: uint16_t operands would promote to int,
// whose product overflows.
template <class T>
using Wrap = typename SizedInt<(sizeof(T) < 4 ? 4 : sizeof(T))>::Unsigned;

template <class To, class From>
FR_INLINE To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}
template <class T>
FR_INLINE Bits<T> to_bits(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
FR_INLINE T from_bits(Bits<T> b) {
  return __builtin_bit_cast(T, b);
}

// Layout of the two floating-point types.
template <class T>
struct FloatFacts;
template <>
struct FloatFacts<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr uint64_t sign = 0x8000000000000000u, exponent = 0x7ff0000000000000u, mantissa = 0x000fffffffffffffu;
  static constexpr double inf = __builtin_inf(), nan = __builtin_nan(""), min_normal = 0x1p-1022,
                          max = 0x1.fffffffffffffp1023;
  // Adding it to |x| < 2**51 leaves rint(x) in the low bits.
  static constexpr double rounder = 0x1.8p52;
};
template <>
struct FloatFacts<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr uint32_t sign = 0x80000000u, exponent = 0x7f800000u, mantissa = 0x007fffffu;
  static constexpr float inf = __builtin_inff(), nan = __builtin_nanf(""), min_normal = 0x1p-126f,
                         max = 0x1.fffffep127f;
  static constexpr float rounder = 0x1.8p23f;
};

FR_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
FR_INLINE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

// The polynomial c0 + c1 z + c2 z**2 + ..., one fused multiply-add a coefficient.
template <class T>
FR_INLINE T horner(T, T c0) {
  return c0;
}
template <class T, class... Rest>
FR_INLINE T horner(T z, T c0, Rest... rest) {
  return fma(horner(z, rest...), z, c0);
}

// |x| and |x| with the sign of y, by bits: NaN keeps its payload.
template <class T>
FR_INLINE T magnitude(T x) {
  return from_bits<T>(to_bits(x) & ~FloatFacts<T>::sign);
}
template <class T>
FR_INLINE T with_sign(T x, T y) {
  return from_bits<T>((to_bits(x) & ~FloatFacts<T>::sign) | (to_bits(y) & FloatFacts<T>::sign));
}

// The value of a bool that is loaded from memory: emitted code passes every element of a boolean array through this.
// GCC 12 has no vector type for a loaded bool and leaves the loop scalar, but compares loaded bytes. Only for loads:
// around a comparison it packs the vector mask into bytes and unpacks it again.
FR_INLINE bool truth(bool c) { return __builtin_bit_cast(uint8_t, c) != 0; }

// -1 where c holds, else 0: for selecting bits without a branch.
template <class T>
FR_INLINE Bits<T> mask_if(bool c) {
  return c ? ~Bits<T>(0) : Bits<T>(0);
}

}  // namespace fr
