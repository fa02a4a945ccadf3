// The functors of the operation table that need no polynomial: one template a row, named as the row. Operands come in the
// type that the row's rule computes with. Results are NumPy's, bit for bit, on every input: integer arithmetic wraps (computed
// unsigned, so nothing is undefined), floating point follows IEEE with NumPy's choices for zeros and NaN.
//
// Emitted code, the reference evaluator and constant folding all use these, so that they agree in every bit.
#pragma once

#include "ferrule/rt/base.h"
#include "ferrule/rt/cast.h"
#include "ferrule/rt/index.h"

namespace fr {

// Arithmetic

template <class T>
FR_INLINE T add(T x, T y) {
  if constexpr (is_bool<T>) return x | y;
  else if constexpr (is_float<T>) return x + y;
  else return T(Wrap<T>(x) + Wrap<T>(y));
}

template <class T>
FR_INLINE T subtract(T x, T y) {
  if constexpr (is_float<T>) return x - y;
  else return T(Wrap<T>(x) - Wrap<T>(y));
}

template <class T>
FR_INLINE T multiply(T x, T y) {
  if constexpr (is_bool<T>) return x & y;
  else if constexpr (is_float<T>) return x * y;
  else return T(Wrap<T>(x) * Wrap<T>(y));
}

template <class T>
FR_INLINE T divide(T x, T y) {
  return x / y;
}

// The low 32 bits of an integer |q| <= 2**33 held in a double. A sum instead of a conversion: it vectorises everywhere.
FR_INLINE uint32_t integer_bits(double q) { return uint32_t(to_bits(q + FloatFacts<double>::rounder)); }

// floor or truncation of x / y for integers of at most 32 bits, y != 0. The quotient of two such integers differs from a
// whole number by more than the rounding of a double, and vector units divide doubles but not integers.
template <class T, bool floored>
FR_INLINE T small_quotient(T x, T y) {
  const double q = double(x) / double(y);
  return T(integer_bits(floored ? __builtin_floor(q) : __builtin_trunc(q)));
}

// C's remainder, defined everywhere: 0 for a divisor of 0.
template <class T>
FR_INLINE T integer_fmod(T x, T y) {
  if constexpr (sizeof(T) <= 4) {
    const T d = y == T(0) ? T(1) : y;
    const T q = small_quotient<T, false>(x, d);
    return y == T(0) ? T(0) : T(Wrap<T>(x) - Wrap<T>(q) * Wrap<T>(d));
  } else if constexpr (is_signed_int<T>) {
    return y == 0 || y == -1 ? T(0) : T(x % y);
  } else {
    return y == 0 ? T(0) : T(x % y);
  }
}

// The C remainder of doubles, exact. Below a quotient of 2**53 the truncated quotient is right or one too large, and then
// both the product's difference and its correction are exact.
FR_INLINE double fmod_double(double x, double y) {
  const double ax = magnitude(x), ay = magnitude(y);
  const double q = ax / ay;
  if (__builtin_expect(!(q < 0x1p53), 0)) return __builtin_fmod(x, y);
  const double r = fma(-__builtin_trunc(q), ay, ax);
  // An infinite divisor gives q = 0 and 0 * inf, and leaves x.
  return with_sign(ay == FloatFacts<double>::inf ? ax : r < 0 ? r + ay : r, x);
}

template <class T>
FR_INLINE T fmod(T x, T y) {
  if constexpr (is_float<T>) return T(fmod_double(x, y));
  else return integer_fmod(x, y);
}

template <class T>
FR_INLINE T floor_divide(T x, T y) {
  if constexpr (is_float<T>) {
    // NumPy's order of operations: the value for huge and inexact quotients depends on it.
    const T mod = fmod(x, y);
    const T quotient = x / y;
    T div = (x - mod) / y;
    div = ((mod != T(0)) & ((y < T(0)) != (mod < T(0)))) ? div - T(1) : div;
    T whole = T(__builtin_floor(div));
    whole = div - whole > T(0.5) ? whole + T(1) : whole;
    whole = div == T(0) ? with_sign(T(0), quotient) : whole;
    return y == T(0) ? quotient : whole;
  } else if constexpr (sizeof(T) <= 4) {
    const T d = y == T(0) ? T(1) : y;
    const T q = small_quotient<T, true>(x, d);
    return y == T(0) ? T(0) : q;
  } else if constexpr (is_signed_int<T>) {
    return fr_floordiv(x, y);
  } else {
    return y == 0 ? T(0) : T(x / y);
  }
}

template <class T>
FR_INLINE T remainder(T x, T y) {
  if constexpr (is_float<T>) {
    const T mod = fmod(x, y);
    const T moved = (y < T(0)) != (mod < T(0)) ? mod + y : mod;
    const T signed_mod = mod == T(0) ? with_sign(T(0), y) : moved;
    return y == T(0) ? mod : signed_mod;
  } else if constexpr (is_signed_int<T>) {
    const T mod = integer_fmod(x, y);
    return T(((mod != T(0)) & ((mod < T(0)) != (y < T(0)))) ? mod + y : mod);
  } else {
    return integer_fmod(x, y);
  }
}

template <class T>
FR_INLINE T negative(T x) {
  if constexpr (is_float<T>) return -x;
  else return T(Wrap<T>(0) - Wrap<T>(x));
}

template <class T>
FR_INLINE T positive(T x) {
  return x;
}

template <class T>
FR_INLINE T absolute(T x) {
  if constexpr (is_float<T>) return magnitude(x);
  else if constexpr (is_signed_int<T>) return x < T(0) ? negative(x) : x;
  else return x;
}

template <class T>
FR_INLINE T fabs(T x) {
  return magnitude(x);
}

template <class T>
FR_INLINE T sign(T x) {
  if constexpr (is_float<T>) return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
  else return T(int(x > T(0)) - int(x < T(0)));
}

template <class T>
FR_INLINE T square(T x) {
  return multiply(x, x);
}

template <class T>
FR_INLINE T reciprocal(T x) {
  if constexpr (is_float<T>) {
    return T(1) / x;
  } else {
    // NumPy converts 1.0 / x back, so 0 becomes what the cast makes of infinity.
    if constexpr (is_signed_int<T>) return x == T(1) || x == T(-1) ? x : x == T(0) ? cast<T>(__builtin_inf()) : T(0);
    else return x == T(1) ? x : x == T(0) ? cast<T>(__builtin_inf()) : T(0);
  }
}

template <class T>
FR_INLINE T conjugate(T x) {
  return x;
}

template <class T>
FR_INLINE T gcd(T x, T y) {
  Bits<T> a = Bits<T>(absolute(x)), b = Bits<T>(absolute(y));
  while (b != 0) {
    const Bits<T> r = Bits<T>(a % b);
    a = b;
    b = r;
  }
  return T(a);
}

template <class T>
FR_INLINE T lcm(T x, T y) {
  const Bits<T> a = Bits<T>(absolute(x)), b = Bits<T>(absolute(y)), g = Bits<T>(gcd(x, y));
  return g == 0 ? T(0) : T(Wrap<T>(a / g) * Wrap<T>(b));
}

// Extremes and selection. Equal operands (zeros of either sign) give the second, as NumPy's vector loops do.

template <class T>
FR_INLINE T maximum(T x, T y) {
  if constexpr (is_float<T>) return ((x > y) | (x != x)) ? x : y;
  else if constexpr (is_bool<T>) return x | y;
  else return x > y ? x : y;
}

template <class T>
FR_INLINE T minimum(T x, T y) {
  if constexpr (is_float<T>) return ((x < y) | (x != x)) ? x : y;
  else if constexpr (is_bool<T>) return x & y;
  else return x < y ? x : y;
}

template <class T>
FR_INLINE T fmax(T x, T y) {
  if constexpr (is_float<T>) return ((x > y) | (y != y)) ? x : y;
  else if constexpr (is_bool<T>) return x | y;
  else return x > y ? x : y;
}

template <class T>
FR_INLINE T fmin(T x, T y) {
  if constexpr (is_float<T>) return ((x < y) | (y != y)) ? x : y;
  else if constexpr (is_bool<T>) return x & y;
  else return x < y ? x : y;
}

template <class T>
FR_INLINE T clip(T x, T low, T high) {
  if constexpr (is_float<T>) {
    // minimum(maximum(x, low), high) with the tests for NaN moved to the end, which keeps the loop free of branches.
    const T raised = x > low ? x : low;
    const T r = raised < high ? raised : high;
    return ((x != x) | (low != low)) ? x + low : r;
  } else {
    return minimum(maximum(x, low), high);
  }
}

template <class T>
FR_INLINE T select(bool condition, T x, T y) {
  if constexpr (is_bool<T>) return (condition & x) | (!condition & y);
  else return condition ? x : y;
}

FR_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
FR_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }

template <class T>
FR_INLINE T deg2rad(T x) {
  return x * (T(3.14159265358979323846) / T(180));
}

template <class T>
FR_INLINE T rad2deg(T x) {
  return x * (T(180) / T(3.14159265358979323846));
}

// Rounding and the parts of a floating-point number

template <class T>
FR_INLINE T floor(T x) {
  if constexpr (__is_same(T, double)) return __builtin_floor(x);
  else if constexpr (__is_same(T, float)) return __builtin_floorf(x);
  else return x;
}

template <class T>
FR_INLINE T ceil(T x) {
  if constexpr (__is_same(T, double)) return __builtin_ceil(x);
  else if constexpr (__is_same(T, float)) return __builtin_ceilf(x);
  else return x;
}

template <class T>
FR_INLINE T trunc(T x) {
  if constexpr (__is_same(T, double)) return __builtin_trunc(x);
  else if constexpr (__is_same(T, float)) return __builtin_truncf(x);
  else return x;
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
  const int32_t e = int32_t((to_bits(scaled) & F::exponent) >> F::mantissa_bits) - (F::bias - 1) -
                    (tiny ? F::mantissa_bits + 1 : 0);
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

// Comparison. int64_t with uint64_t compares the numbers, not a common type.

template <class T, class U>
inline constexpr bool is_mixed_sign = is_int<T> && is_int<U> && is_signed_int<T> != is_signed_int<U>;

template <class T, class U>
FR_INLINE bool equal(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>) return (x >= 0) & (uint64_t(x) == uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>) return (y >= 0) & (uint64_t(x) == uint64_t(y));
  else return x == y;
}

template <class T, class U>
FR_INLINE bool less(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>) return (x < 0) | (uint64_t(x) < uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>) return (y >= 0) & (uint64_t(x) < uint64_t(y));
  else return x < y;
}

template <class T, class U>
FR_INLINE bool less_equal(T x, U y) {
  if constexpr (is_mixed_sign<T, U> && is_signed_int<T>) return (x < 0) | (uint64_t(x) <= uint64_t(y));
  else if constexpr (is_mixed_sign<T, U>) return (y >= 0) & (uint64_t(x) <= uint64_t(y));
  else return x <= y;
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
  if constexpr (is_bool<T>) return !x;
  else return T(~x);
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
  if constexpr (is_signed_int<T>) return T(x >> (in_range ? Bits<T>(k) : Bits<T>(width - 1)));
  else return in_range ? T(x >> (in_range ? k : T(0))) : T(0);
}

template <class T>
FR_INLINE uint8_t bitwise_count(T x) {
  return uint8_t(__builtin_popcountll(uint64_t(Bits<T>(absolute(x)))));
}

// Tests

template <class T>
FR_INLINE bool isnan(T x) {
  if constexpr (is_float<T>) return x != x;
  else return false;
}

template <class T>
FR_INLINE bool isinf(T x) {
  if constexpr (is_float<T>) return magnitude(x) == FloatFacts<T>::inf;
  else return false;
}

template <class T>
FR_INLINE bool isfinite(T x) {
  if constexpr (is_float<T>) return magnitude(x) < FloatFacts<T>::inf;
  else return true;
}

template <class T>
FR_INLINE bool signbit(T x) {
  return (to_bits(x) & FloatFacts<T>::sign) != 0;
}

}  // namespace fr
