// Powers and roots.
#pragma once

#include "ferrule/rt/exp_log.h"
#include "ferrule/rt/ops.h"

namespace fr {

// A number carried as the unevaluated sum of two.
struct Pair {
  double hi, lo;
};

// The binary logarithm of a positive finite x to about 68 bits.
FR_INLINE Pair log2_pair(double x) {
  using F = FloatFacts<double>;
  constexpr uint64_t root_half = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
  const bool tiny = x < F::min_normal;
  const uint64_t b = to_bits(tiny ? x * 0x1p52 : x) + (one - root_half);
  const double k = from_bits<double>((b >> 52) | to_bits(0x1p52)) - (tiny ? 0x1p52 + 1075 : 0x1p52 + 1023);
  const double m = from_bits<double>((b & F::mantissa) + root_half);
  // s = (m - 1) / (m + 1) in two parts; log2(m) = s (c1 + z (c3 + z tail)), z = s**2.
  const double up = m - 1, down = m + 1, down_lo = m - (down - 1), inverse = 1 / down;
  const double s = up * inverse;
  const double s_lo = fma(-s, down_lo, fma(-s, down, up)) * inverse;
  const double z = s * s, z_lo = fma(s, s, -z) + 2 * s * s_lo;
  const double tail =
      z * horner(z, 0x1.2776c50ef9bfep-1, 0x1.a61762a7adfaap-2, 0x1.484b13d79bf16p-2, 0x1.0c9a84bf8b7dbp-2,
                 0x1.c68f2ed512a8ap-3, 0x1.89fedb3349e8ep-3, 0x1.59dfb09edceddp-3, 0x1.5a68da3f90f5ap-3);
  constexpr double c1 = 0x1.71547652b82fep+1, c1_lo = 0x1.777d0ffda0d24p-55;
  constexpr double c3 = 0x1.ec709dc3a03fdp-1, c3_lo = 0x1.d27f05548af0cp-55;
  const double t = c3 + tail, t_lo = ((c3 - t) + tail) + c3_lo;
  const double u = z * t, u_lo = fma(z, t, -u) + fma(z, t_lo, z_lo * t);
  const double v = c1 + u, v_lo = ((c1 - v) + u) + (u_lo + c1_lo);
  const double l = s * v, l_lo = fma(s, v, -l) + fma(s, v_lo, s_lo * v);
  const double sum = k + l;
  return {sum, ((k - sum) + l) + l_lo};
}

// x**y for finite x > 0 and any y; the exponent y log2(x) is limited to where the power over- or underflows.
FR_INLINE double power_positive(double x, double y) {
  const Pair l = log2_pair(x);
  const double product = y * l.hi;
  const double error = fma(y, l.hi, -product) + y * l.lo;
  const bool inside = magnitude(product) < 1100;
  const double p = inside ? product : with_sign(1100.0, product);
  const double n = round_small(p), r = (p - n) + (inside ? error : 0);
  return scale(fma(r, exp2_tail(r), 1.0), n);
}

// The same for floats, in double, with the accuracy that a float can show.
FR_INLINE double power_positive_short(double x, double y) {
  constexpr uint64_t root_half = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
  const uint64_t b = to_bits(x) + (one - root_half);
  const double k = from_bits<double>((b >> 52) | to_bits(0x1p52)) - (0x1p52 + 1023);
  const double m = from_bits<double>((b & FloatFacts<double>::mantissa) + root_half);
  const double s = (m - 1) / (m + 1), z = s * s;
  const double tail = horner(z, 0x1.ec709dc3b7075p-1, 0x1.2776c478a038ep-1, 0x1.a618a0002498dp-2, 0x1.47d622f6ca431p-2,
                             0x1.1e12d1f771e0dp-2);
  const double product = y * (k + s * fma(z, tail, 0x1.71547652b82fep+1));
  const double p = limit(product, -300.0, 300.0);
  const double n = round_small(p), r = p - n;
  const double q = horner(r, 0x1.62e42fef9cc59p-1, 0x1.ebfbdff81d29ap-3, 0x1.c6b08da7111c7p-5, 0x1.3b2ab72566206p-7,
                          0x1.5d87759277559p-10, 0x1.430891efff85ap-13, 0x1.00c0e8b529cb2p-16, 0x1.63ef985f2da27p-20);
  return fma(r, q, 1.0) * pow2(n);
}

// Whether y is an odd whole number.
template <class T>
FR_INLINE bool is_odd(T y) {
  const T half = y * T(0.5), whole = trunc(y), whole_half = trunc(half);
  return (y == whole) & (half != whole_half);
}

// C's pow with all its special values.
template <class T>
FR_INLINE T float_pow(T x, T y) {
  constexpr T inf = FloatFacts<T>::inf, nan = FloatFacts<T>::nan;
  const T a = magnitude(x);
  T r;
  if constexpr (sizeof(T) == 8)
    r = power_positive(a, y);
  else
    r = T(power_positive_short(a, y));
  const T at_zero = y < T(0) ? inf : T(0), at_inf = y < T(0) ? T(0) : inf;
  r = a == T(0) ? at_zero : a == inf ? at_inf : r;
  r = ((x < T(0)) & (a < inf) & (y != trunc(y))) ? nan : r;
  const bool negative_base = signbit(x), odd = is_odd(y);
  r = (negative_base & odd) ? -r : r;
  r = ((x != x) | (y != y)) ? x + y : r;
  const bool unit = (x == T(1)) | (y == T(0)) | ((x == T(-1)) & (magnitude(y) == inf));
  return unit ? T(1) : r;
}

// Integers by squaring, with wrap-around; 0 for a negative exponent.
template <class T>
FR_INLINE T power(T x, T y) {
  if constexpr (is_float<T>) {
    return float_pow(x, y);
  } else {
    Wrap<T> result = 1, base = Wrap<T>(x);
    if constexpr (is_signed_int<T>) {
      if (y < 0) return T(0);
    }
    for (Bits<T> e = Bits<T>(y); e != 0; e = Bits<T>(e >> 1), base *= base) {
      if (e & 1) result *= base;
    }
    return T(result);
  }
}

FR_INLINE double float_power(double x, double y) { return float_pow(x, y); }

// |x| = m 2**(3 q + j) with m in [1, 2): the reciprocal root of m by a polynomial and two steps of third order, the
// root by a last step whose residual is exact.
FR_INLINE double cbrt(double x) {
  using F = FloatFacts<double>;
  const double a = magnitude(x);
  const bool tiny = a < F::min_normal;
  const uint64_t b = to_bits(tiny ? a * 0x1p54 : a);
  const double e = from_bits<double>((b >> 52) | to_bits(0x1p52)) - (tiny ? 0x1p52 + 1077 : 0x1p52 + 1023);
  const double m = from_bits<double>((b & F::mantissa) | 0x3ff0000000000000u);
  const double q = round_small(fma(e, 0x1.5555555555555p-2, -0x1.5555555555555p-2));  // floor(e / 3) for whole e
  const double j = e - 3 * q;
  const double w = j == 0 ? m : j == 1 ? 2 * m : 4 * m;
  double z = horner(m, 0x1.c875f5abd936fp+0, -0x1.92b50c6b8aadbp+0, 0x1.40ec2650fe359p+0, -0x1.358f7c3fcef07p-1,
                    0x1.444cf261316cdp-3, -0x1.1bd1969dc8073p-6);
  z *= j == 0 ? 1.0 : j == 1 ? 0x1.965fea53d6e3dp-1 : 0x1.428a2f98d728bp-1;
  const double h = fma(-w * z, z * z, 1.0);
  z = fma(z * h, fma(h, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), z);
  const double y = w * z * z, square = y * y;
  const double residual = fma(-fma(y, y, -square), y, fma(-square, y, w));
  const double root = fma(residual * z * z, 0x1.5555555555555p-2, y) * pow2(q);
  return ((x == 0) | !(a < F::inf)) ? x : with_sign(root, x);
}
FR_INLINE float cbrt(float x) { return float(cbrt(double(x))); }

// The larger side is brought near 1 by a power of two where a square could leave the range.
FR_INLINE double hypot(double x, double y) {
  constexpr double inf = FloatFacts<double>::inf;
  const double a = magnitude(x), b = magnitude(y);
  const double larger = a > b ? a : b, smaller = a > b ? b : a;
  const double up = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-450 ? 0x1p600 : 1.0;
  const double down = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-450 ? 0x1p-600 : 1.0;
  const double u = larger * up, v = smaller * up;
  const double r = sqrt(fma(u, u, v * v)) * down;
  return ((a == inf) | (b == inf)) ? inf : r;
}
FR_INLINE float hypot(float x, float y) {
  constexpr float inf = FloatFacts<float>::inf;
  const double u = x, v = y;
  const float r = float(sqrt(fma(u, u, v * v))), a = magnitude(x), b = magnitude(y);
  return ((a == inf) | (b == inf)) ? inf : r;
}

}  // namespace fr
