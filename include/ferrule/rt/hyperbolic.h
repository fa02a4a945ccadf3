// Hyperbolic functions and their inverses, within 2.5 ulp of the true value.
#pragma once

#include "ferrule/rt/exp_log.h"
#include "ferrule/rt/ops.h"

namespace fr {

// Below it x itself is the nearest value of the odd functions.
template <class T>
inline constexpr T kLinear = sizeof(T) == 8 ? T(0x1p-28) : T(0x1p-13);
// From it on e**|x| and its inverse functions need no smaller term.
template <class T>
inline constexpr T kDominant = sizeof(T) == 8 ? T(0x1p27) : T(0x1p12);
// Beyond the largest argument of a finite sinh and cosh.
template <class T>
inline constexpr T kOverflow = sizeof(T) == 8 ? T(710.6) : T(89.5);

template <class T>
FR_INLINE T sinh(T x) {
  const T a = magnitude(x);
  const ExpParts<T> e = exp_parts(a > kOverflow<T> ? kOverflow<T> : a);
  // A quarter of e**a - 1, which stays finite up to the overflow of the result.
  const T quarter = pow2(e.n - T(2));
  const T t = fma(quarter, e.p, quarter - T(0.25));
  const T r = T(2) * (t + t / fma(T(4), t, T(1)));
  return with_sign(a < kLinear<T> ? a : r, x);
}

template <class T>
FR_INLINE T cosh(T x) {
  const T a = magnitude(x);
  const ExpParts<T> e = exp_parts(a > kOverflow<T> ? kOverflow<T> : a);
  const T quarter = pow2(e.n - T(2));
  const T t = fma(quarter, e.p, quarter);
  return fma(T(2), t, T(0.125) / t);
}

template <class T>
FR_INLINE T tanh(T x) {
  constexpr T flat = sizeof(T) == 8 ? T(44) : T(20);
  const T a = T(2) * magnitude(x);
  const T t = expm1_limited(a > flat ? flat : a);
  return with_sign(t / (t + T(2)), x);
}

template <class T>
FR_INLINE T arcsinh(T x) {
  const T a = magnitude(x);
  const bool large = a > kDominant<T>;
  const T square = a * a;
  const T w = a + square / (T(1) + sqrt(T(1) + square));
  const T r = log_one_plus(large ? a : w, large, large ? T(1) : T(0));
  return with_sign(a < FloatFacts<T>::inf ? r : a, x);
}

template <class T>
FR_INLINE T arccosh(T x) {
  const bool large = x > kDominant<T>;
  const T above = x - T(1);
  const T w = above + sqrt(above * (above + T(2)));
  const T r = log_one_plus(large ? x : w, large, large ? T(1) : T(0));
  const T finite = x < FloatFacts<T>::inf ? r : x;
  return x < T(1) ? FloatFacts<T>::nan : finite;
}

template <class T>
FR_INLINE T arctanh(T x) {
  const T a = magnitude(x);
  const T r = T(0.5) * log_one_plus(T(2) * a / (T(1) - a));
  const T inside = a < T(1) ? r : a == T(1) ? FloatFacts<T>::inf : FloatFacts<T>::nan;
  return with_sign(a < kLinear<T> ? a : inside, x);
}

}  // namespace fr
