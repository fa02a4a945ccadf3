// The functors that round, and those that take a floating-point number apart or put it together.
#pragma once

#include "ferrule/rt/base.h"

namespace fr {

template <class T>
FR_INLINE T floor(T x) {
  if constexpr (__is_same(T, double))
    return __builtin_floor(x);
  else if constexpr (__is_same(T, float))
    return __builtin_floorf(x);
  else
    return x;
}

template <class T>
FR_INLINE T ceil(T x) {
  if constexpr (__is_same(T, double))
    return __builtin_ceil(x);
  else if constexpr (__is_same(T, float))
    return __builtin_ceilf(x);
  else
    return x;
}

template <class T>
FR_INLINE T trunc(T x) {
  if constexpr (__is_same(T, double))
    return __builtin_trunc(x);
  else if constexpr (__is_same(T, float))
    return __builtin_truncf(x);
  else
    return x;
}

FR_INLINE double rint(double x) { return __builtin_rint(x); }
FR_INLINE float rint(float x) { return __builtin_rintf(x); }

template <class T>
FR_INLINE T copysign(T x, T y) {
  return with_sign(x, y);
}

// The neighbour of x with one more (away) or one less unit in the last place; x is neither NaN nor, for away, infinite.
template <class T>
FR_INLINE T step(T x, bool away) {
  return from_bits<T>(Bits<T>(to_bits(x) + (away ? Bits<T>(1) : ~Bits<T>(0))));
}

template <class T>
FR_INLINE T nextafter(T x, T y) {
  const T from_zero = with_sign(from_bits<T>(1), y);
  const T stepped = step(x, (x < y) == (x > T(0)));
  const T moved = x == T(0) ? from_zero : stepped;
  return ((x != x) | (y != y)) ? x + y : x == y ? y : moved;
}

template <class T>
FR_INLINE T spacing(T x) {
  const T d = step(magnitude(x), true) - magnitude(x);
  return magnitude(x) < FloatFacts<T>::inf ? (x < T(0) ? -d : d) : FloatFacts<T>::nan;
}

template <class T>
FR_INLINE T heaviside(T x, T y) {
  return x != x ? x : x == T(0) ? y : x < T(0) ? T(0) : T(1);
}

// 2**k for an exponent of the normal range.
template <class T>
FR_INLINE T power_of_two(int32_t k) {
  return from_bits<T>(Bits<T>(Bits<T>(k + FloatFacts<T>::bias) << FloatFacts<T>::mantissa_bits));
}

// x * 2**k, rounded once. Three exact scalings reach from the smallest denormal to the largest number; only the last
// product of a chain downwards can round, because the earlier ones stay mantissa_bits + 1 above the normal limit.
template <class T, class K>
FR_INLINE T ldexp(T x, K k) {
  constexpr int up = FloatFacts<T>::bias, down = FloatFacts<T>::bias - 2 - FloatFacts<T>::mantissa_bits;
  constexpr int low = 1 - FloatFacts<T>::bias;
  const K limit = K(3 * FloatFacts<T>::bias);
  int32_t n = int32_t(k > limit ? limit : k < -limit ? K(-limit) : k);
  T y = x;
  for (int i = 0; i < 2; ++i) {
    const int32_t part = n > up ? up : n < low ? -down : 0;
    y *= power_of_two<T>(part);
    n -= part;
  }
  n = n > up ? up : n < low ? low : n;
  return y * power_of_two<T>(n);
}

// The biased exponent and the scaled value of |x|, with denormals scaled into the normal range.
template <class T>
FR_INLINE T frexp_mantissa(T x) {
  using F = FloatFacts<T>;
  const T scaled = magnitude(x) < F::min_normal ? x * power_of_two<T>(F::mantissa_bits + 1) : x;
  const T m = from_bits<T>((to_bits(scaled) & ~F::exponent) | (Bits<T>(F::bias - 1) << F::mantissa_bits));
  return ((x == T(0)) | !(magnitude(x) < F::inf)) ? x : m;
}

template <class T>
FR_INLINE int32_t frexp_exponent(T x) {
  using F = FloatFacts<T>;
  const bool tiny = magnitude(x) < F::min_normal;
  const T scaled = tiny ? x * power_of_two<T>(F::mantissa_bits + 1) : x;
  const int32_t e =
      int32_t((to_bits(scaled) & F::exponent) >> F::mantissa_bits) - (F::bias - 1) - (tiny ? F::mantissa_bits + 1 : 0);
  return ((x == T(0)) | !(magnitude(x) < F::inf)) ? 0 : e;
}

template <class T>
FR_INLINE T modf_integer(T x) {
  return trunc(x);
}

template <class T>
FR_INLINE T modf_fraction(T x) {
  const T fraction = magnitude(x) == FloatFacts<T>::inf ? T(0) : x - trunc(x);
  return x != x ? x : with_sign(fraction, x);
}

}  // namespace fr
