// Transcendental functors.
#pragma once

#include "ferrule/rt/ops.h"

namespace fr {

FR_INLINE double cbrt(double x) { return __builtin_cbrt(x); }
FR_INLINE float cbrt(float x) { return float(__builtin_cbrt(double(x))); }
FR_INLINE double exp(double x) { return __builtin_exp(x); }
FR_INLINE float exp(float x) { return float(__builtin_exp(double(x))); }
FR_INLINE double exp2(double x) { return __builtin_exp2(x); }
FR_INLINE float exp2(float x) { return float(__builtin_exp2(double(x))); }
FR_INLINE double expm1(double x) { return __builtin_expm1(x); }
FR_INLINE float expm1(float x) { return float(__builtin_expm1(double(x))); }
FR_INLINE double log(double x) { return __builtin_log(x); }
FR_INLINE float log(float x) { return float(__builtin_log(double(x))); }
FR_INLINE double log2(double x) { return __builtin_log2(x); }
FR_INLINE float log2(float x) { return float(__builtin_log2(double(x))); }
FR_INLINE double log10(double x) { return __builtin_log10(x); }
FR_INLINE float log10(float x) { return float(__builtin_log10(double(x))); }
FR_INLINE double log1p(double x) { return __builtin_log1p(x); }
FR_INLINE float log1p(float x) { return float(__builtin_log1p(double(x))); }
FR_INLINE double sin(double x) { return __builtin_sin(x); }
FR_INLINE float sin(float x) { return float(__builtin_sin(double(x))); }
FR_INLINE double cos(double x) { return __builtin_cos(x); }
FR_INLINE float cos(float x) { return float(__builtin_cos(double(x))); }
FR_INLINE double tan(double x) { return __builtin_tan(x); }
FR_INLINE float tan(float x) { return float(__builtin_tan(double(x))); }
FR_INLINE double arcsin(double x) { return __builtin_asin(x); }
FR_INLINE float arcsin(float x) { return float(__builtin_asin(double(x))); }
FR_INLINE double arccos(double x) { return __builtin_acos(x); }
FR_INLINE float arccos(float x) { return float(__builtin_acos(double(x))); }
FR_INLINE double arctan(double x) { return __builtin_atan(x); }
FR_INLINE float arctan(float x) { return float(__builtin_atan(double(x))); }
FR_INLINE double sinh(double x) { return __builtin_sinh(x); }
FR_INLINE float sinh(float x) { return float(__builtin_sinh(double(x))); }
FR_INLINE double cosh(double x) { return __builtin_cosh(x); }
FR_INLINE float cosh(float x) { return float(__builtin_cosh(double(x))); }
FR_INLINE double tanh(double x) { return __builtin_tanh(x); }
FR_INLINE float tanh(float x) { return float(__builtin_tanh(double(x))); }
FR_INLINE double arcsinh(double x) { return __builtin_asinh(x); }
FR_INLINE float arcsinh(float x) { return float(__builtin_asinh(double(x))); }
FR_INLINE double arccosh(double x) { return __builtin_acosh(x); }
FR_INLINE float arccosh(float x) { return float(__builtin_acosh(double(x))); }
FR_INLINE double arctanh(double x) { return __builtin_atanh(x); }
FR_INLINE float arctanh(float x) { return float(__builtin_atanh(double(x))); }
FR_INLINE double hypot(double x, double y) { return __builtin_hypot(x, y); }
FR_INLINE float hypot(float x, float y) { return float(__builtin_hypot(double(x), double(y))); }
FR_INLINE double arctan2(double x, double y) { return __builtin_atan2(x, y); }
FR_INLINE float arctan2(float x, float y) { return float(__builtin_atan2(double(x), double(y))); }

template <class T>
FR_INLINE T power(T x, T n) {
  if constexpr (is_float<T>) {
    return T(__builtin_pow(double(x), double(n)));
  } else {
    Wrap<T> result = 1, base = Wrap<T>(x);
    if constexpr (is_signed_int<T>) {
      if (n < 0) return T(0);
    }
    for (Bits<T> e = Bits<T>(n); e != 0; e = Bits<T>(e >> 1), base *= base) {
      if (e & 1) result *= base;
    }
    return T(result);
  }
}
FR_INLINE double float_power(double x, double y) { return power(x, y); }

template <class T>
FR_INLINE T logaddexp(T x, T y) {
  const T m = maximum(x, y), d = magnitude(x - y);
  return x == y ? x + T(0.69314718055994530942) : d != d ? x + y : m + log1p(exp(-d));
}
template <class T>
FR_INLINE T logaddexp2(T x, T y) {
  const T m = maximum(x, y), d = magnitude(x - y);
  return x == y ? x + T(1) : d != d ? x + y : m + T(1.44269504088896340736) * log1p(exp2(-d));
}

}  // namespace fr
