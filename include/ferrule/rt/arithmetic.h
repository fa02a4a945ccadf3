// The functors of arithmetic: integers wrap (computed unsigned, so nothing is undefined) and divide by zero to 0;
// floating point follows IEEE and, in its divisions with a whole quotient, NumPy operation for operation.
#pragma once

#include "ferrule/rt/base.h"
#include "ferrule/rt/cast.h"
#include "ferrule/rt/index.h"

namespace fr {

template <class T>
FR_INLINE T add(T x, T y) {
  if constexpr (is_bool<T>)
    return x | y;
  else if constexpr (is_float<T>)
    return x + y;
  else
    return T(Wrap<T>(x) + Wrap<T>(y));
}

template <class T>
FR_INLINE T subtract(T x, T y) {
  if constexpr (is_float<T>)
    return x - y;
  else
    return T(Wrap<T>(x) - Wrap<T>(y));
}

template <class T>
FR_INLINE T multiply(T x, T y) {
  if constexpr (is_bool<T>)
    return x & y;
  else if constexpr (is_float<T>)
    return x * y;
  else
    return T(Wrap<T>(x) * Wrap<T>(y));
}

template <class T>
FR_INLINE T divide(T x, T y) {
  return x / y;
}

// The low 32 bits of an integer |q| <= 2**33 held in a double. A sum instead of a conversion: it vectorises everywhere.
FR_INLINE uint32_t integer_bits(double q) { return uint32_t(to_bits(q + FloatFacts<double>::rounder)); }

// floor or truncation of x / y for integers of at most 32 bits, y != 0. The quotient of two such integers differs from
// a whole number by more than the rounding of a double, and vector units divide doubles but not integers.
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

// The C remainder of doubles, exact. Below a quotient of 2**53 the truncated quotient is right or one too large, and
// then both the product's difference and its correction are exact.
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
  if constexpr (is_float<T>)
    return T(fmod_double(x, y));
  else
    return integer_fmod(x, y);
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
  if constexpr (is_float<T>)
    return -x;
  else
    return T(Wrap<T>(0) - Wrap<T>(x));
}

template <class T>
FR_INLINE T positive(T x) {
  return x;
}

template <class T>
FR_INLINE T absolute(T x) {
  if constexpr (is_float<T>)
    return magnitude(x);
  else if constexpr (is_signed_int<T>)
    return x < T(0) ? negative(x) : x;
  else
    return x;
}

template <class T>
FR_INLINE T fabs(T x) {
  return magnitude(x);
}

template <class T>
FR_INLINE T sign(T x) {
  if constexpr (is_float<T>)
    return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x;
  else
    return T(int(x > T(0)) - int(x < T(0)));
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
    if constexpr (is_signed_int<T>)
      return x == T(1) || x == T(-1) ? x : x == T(0) ? cast<T>(__builtin_inf()) : T(0);
    else
      return x == T(1) ? x : x == T(0) ? cast<T>(__builtin_inf()) : T(0);
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

}  // namespace fr
