// Exponentials and logarithms, within 1 ulp of the true value for every input unless docs/internals/math.md says
// otherwise.
//
// All functions here and in the headers beside it are free of branches, calls and tables, so that a loop over them
// vectorises, and consist of correctly rounded operations only, so that an element has the same bits in a vector, in
// the tail of a loop and in the evaluator. Coefficients come from docs/internals/minimax.py.
#pragma once

#include "ferrule/rt/ops.h"

namespace fr {

template <class T>
struct Ln2;
template <>
struct Ln2<double> {
  // log(2) in two parts; a whole number of 11 bits times the first is exact. The same for log10(2).
  static constexpr double hi = 0x1.62e42fefa3800p-1, lo = 0x1.ef35793c76730p-45;
  static constexpr double log10_hi = 0x1.34413509f7800p-2, log10_lo = 0x1.fef311f12b358p-46;
  static constexpr double log2e = 0x1.71547652b82fep+0, log2e_lo = 0x1.777d0ffda0d24p-56;
  static constexpr double log10e = 0x1.bcb7b1526e50ep-2, log10e_lo = 0x1.95355baaafad3p-57;
};
template <>
struct Ln2<float> {
  static constexpr float hi = 0x1.62e8p-1f, lo = -0x1.e8082ep-16f;
  static constexpr float log10_hi = 0x1.344p-2f, log10_lo = 0x1.3509f8p-18f;
  static constexpr float log2e = 0x1.715476p+0f, log2e_lo = 0x1.4ae0c0p-26f;
  static constexpr float log10e = 0x1.bcb7b2p-2f, log10e_lo = -0x1.5b235ep-27f;
};

// (e**r - 1 - r) / r**2 for |r| <= log(2)/2.
FR_INLINE double exp_tail(double r) {
  return horner(r, 0x1.0000000000001p-1, 0x1.5555555555558p-3, 0x1.5555555553d62p-5, 0x1.111111110f803p-7,
                0x1.6c16c1788c44dp-10, 0x1.a01a01b00c2c6p-13, 0x1.a019b90bc3fbdp-16, 0x1.71ddf6b3f10d1p-19,
                0x1.289186d6aea07p-22, 0x1.af632ad6abee8p-26);
}
FR_INLINE float exp_tail(float r) {
  return horner(r, 0.500000003f, 0.16666577f, 0.0416663752f, 0.00836318189f, 0.00139411223f);
}

// (2**r - 1) / r for |r| <= 1/2.
FR_INLINE double exp2_tail(double r) {
  return horner(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c6p-5, 0x1.3b2ab6fba4e7dp-7,
                0x1.5d87fe78a3f9bp-10, 0x1.430912f86a0dep-13, 0x1.ffcbfc6da71bdp-17, 0x1.62c02249499dap-20,
                0x1.b524ebd0d0be8p-24, 0x1.e4cef69a440b1p-28, 0x1.e9ec207693aebp-32, 0x1.c4c8c8b468d7bp-36);
}
FR_INLINE float exp2_tail(float r) {
  return horner(r, 0.693147181f, 0.240226509f, 0.0555041093f, 0.00961805667f, 0.00133334547f, 0.000154614477f,
                1.53100383e-05f);
}

// (log((1 + s) / (1 - s)) - 2 s) / s**3 with z = s**2, for (1 + s) / (1 - s) in [sqrt(1/2), sqrt(2)].
FR_INLINE double log_tail(double z) {
  return horner(z, 0x1.5555555555558p-1, 0x1.9999999995224p-2, 0x1.2492492e03dd7p-2, 0x1.c71c62d03d5fcp-3,
                0x1.7462ba290a66ap-3, 0x1.39fdb91f1039ep-3, 0x1.2b5fc0bea6ecbp-3);
}
FR_INLINE float log_tail(float z) { return horner(z, 0.666666853f, 0.399887161f, 0.295821721f); }

// The nearest whole number for |x| < 2**(mantissa_bits - 2), by a sum that rounds.
template <class T>
FR_INLINE T round_small(T x) {
  return (x + FloatFacts<T>::rounder) - FloatFacts<T>::rounder;
}

// 2**n for a whole n whose power is a normal number.
template <class T>
FR_INLINE T pow2(T n) {
  using F = FloatFacts<T>;
  return from_bits<T>(Bits<T>((to_bits(n + F::rounder) << F::mantissa_bits) + (Bits<T>(F::bias) << F::mantissa_bits)));
}

// x * 2**n for a whole n from twice the smallest to twice the largest exponent, rounded once.
template <class T>
FR_INLINE T scale(T x, T n) {
  const T half = round_small(n * T(0.5));
  return x * pow2(half) * pow2(n - half);
}

// e**x - 1 = 2**n * (p + 1) - 1 with |p| < 0.42, for |x| within the range of exponents. NaN passes through p.
template <class T>
struct ExpParts {
  T n, p;
};
template <class T>
FR_INLINE ExpParts<T> exp_parts(T x) {
  const T n = fma(x, Ln2<T>::log2e, FloatFacts<T>::rounder) - FloatFacts<T>::rounder;
  const T r = fma(-n, Ln2<T>::lo, fma(-n, Ln2<T>::hi, x));
  return {n, fma(r * r, exp_tail(r), r)};
}

// x limited to [low, high]; NaN stays.
template <class T>
FR_INLINE T limit(T x, T low, T high) {
  const T y = x > high ? high : x;
  return y < low ? low : y;
}

template <class T>
FR_INLINE T exp(T x) {
  constexpr bool wide = sizeof(T) == 8;
  const ExpParts<T> e = exp_parts(limit(x, wide ? T(-746) : T(-104), wide ? T(710) : T(89)));
  return scale(T(1) + e.p, e.n);
}

template <class T>
FR_INLINE T exp2(T x) {
  constexpr bool wide = sizeof(T) == 8;
  const T y = limit(x, wide ? T(-1080) : T(-152), wide ? T(1025) : T(129));
  const T n = round_small(y), r = y - n;
  return scale(fma(r, exp2_tail(r), T(1)), n);
}

// (e**x - 1) for an x that is limited already; halved in between so that only a true overflow overflows.
template <class T>
FR_INLINE T expm1_limited(T x) {
  const ExpParts<T> e = exp_parts(x);
  const T half = pow2(e.n - T(1));
  return e.n == T(0) ? e.p : T(2) * fma(half, e.p, half - T(0.5));
}

template <class T>
FR_INLINE T expm1(T x) {
  constexpr bool wide = sizeof(T) == 8;
  return with_sign(expm1_limited(limit(x, wide ? T(-44) : T(-20), wide ? T(710) : T(89))), x);
}

// log(x) = k log(2) + hi + lo for a positive finite x; |hi| < 0.36, lo below 6 % of it.
template <class T>
struct LogParts {
  T k, hi, lo;
};
template <class T>
FR_INLINE LogParts<T> log_parts(T x) {
  using F = FloatFacts<T>;
  constexpr Bits<T> root_half = sizeof(T) == 8 ? Bits<T>(0x3fe6a09e667f3bcdu) : Bits<T>(0x3f3504f3u);
  constexpr Bits<T> one = Bits<T>(F::bias) << F::mantissa_bits;
  constexpr T whole = T(Bits<T>(1) << F::mantissa_bits);  // its low bits count ones
  const bool tiny = x < F::min_normal;
  const Bits<T> b = to_bits(tiny ? x * whole : x) + (one - root_half);
  const T biased = from_bits<T>((b >> F::mantissa_bits) | to_bits(whole));
  const T k = biased - (tiny ? whole + T(F::bias + F::mantissa_bits) : whole + T(F::bias));
  const T f = from_bits<T>((b & F::mantissa) + root_half) - T(1);
  const T s = f / (T(2) + f), z = s * s, half_square = T(0.5) * f * f;
  const T hi = f - half_square;
  return {k, hi, ((f - hi) - half_square) + s * fma(z, log_tail(z), half_square)};
}

// k * log(2) + hi + lo; |k| log(2) is 0 or larger than |hi|, so the difference below is the error of the sum.
template <class T>
FR_INLINE T log_total(const LogParts<T>& p) {
  const T base = p.k * Ln2<T>::hi, sum = base + p.hi;
  return sum + (((base - sum) + p.hi) + fma(p.k, Ln2<T>::lo, p.lo));
}

// r for a positive finite x; else what a logarithm gives: -inf for 0, NaN for negative numbers and NaN, inf for inf.
template <class T>
FR_INLINE T log_edges(T x, T r) {
  const T finite = x < FloatFacts<T>::inf ? r : x;
  const T defined = x < T(0) ? FloatFacts<T>::nan : finite;
  return x == T(0) ? -FloatFacts<T>::inf : defined;
}

template <class T>
FR_INLINE T log(T x) {
  return log_edges(x, log_total(log_parts(x)));
}

template <class T>
FR_INLINE T log2(T x) {
  const LogParts<T> p = log_parts(x);
  const T h = p.hi * Ln2<T>::log2e;
  const T l = fma(p.hi, Ln2<T>::log2e, -h) + fma(p.lo, Ln2<T>::log2e, p.hi * Ln2<T>::log2e_lo);
  const T sum = p.k + h;
  return log_edges(x, sum + (((p.k - sum) + h) + l));
}

template <class T>
FR_INLINE T log10(T x) {
  const LogParts<T> p = log_parts(x);
  const T h = p.hi * Ln2<T>::log10e;
  const T l = fma(p.hi, Ln2<T>::log10e, -h) + fma(p.lo, Ln2<T>::log10e, p.hi * Ln2<T>::log10e_lo);
  const T base = p.k * Ln2<T>::log10_hi, sum = base + h;
  return log_edges(x, sum + (((base - sum) + h) + fma(p.k, Ln2<T>::log10_lo, l)));
}

// log(2**doublings * (1 + w)) for a finite w > -1, with 1 + w carried in two parts; or, where `plain`, log(2**doublings
// * w).
template <class T>
FR_INLINE T log_one_plus(T w, bool plain = false, T doublings = T(0)) {
  const T u = plain ? w : T(1) + w;
  const T back = u - T(1);
  const T error = plain ? T(0) : (T(1) - (u - back)) + (w - back);
  LogParts<T> p = log_parts(u);
  p.k += doublings;
  p.lo += error / u;
  return log_total(p);
}

template <class T>
FR_INLINE T log1p(T x) {
  const T r = log_edges(T(1) + x, log_one_plus(x));
  return x > T(-1) ? with_sign(r, x) : r;
}

template <class T>
FR_INLINE T logaddexp(T x, T y) {
  const T larger = maximum(x, y), distance = magnitude(x - y);
  const T r = larger + log1p(exp(-distance));
  const T same = x == y ? x + T(0.69314718055994530942) : r;
  return ((distance != distance) & (x != y)) ? x + y : same;
}

template <class T>
FR_INLINE T logaddexp2(T x, T y) {
  const T larger = maximum(x, y), distance = magnitude(x - y);
  const T r = fma(log1p(exp2(-distance)), T(1.44269504088896340736), larger);
  const T same = x == y ? x + T(1) : r;
  return ((distance != distance) & (x != y)) ? x + y : same;
}

}  // namespace fr
