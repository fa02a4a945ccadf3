// Trigonometric functions and their inverses, within 2 ulp of the true value for every finite argument.
//
// An angle x becomes x / pi = whole + f, |f| <= 1/2, with f in two parts. For any size of x this takes the bits of 1/pi
// that matter from a table. The functions in `bounded` are four times faster and right for |x| <= 2**30 only: a caller
// may run a loop with them, collect `is_far` of all arguments, and run it again with the others where one was far.
#pragma once

#include "ferrule/rt/ops.h"
#include "ferrule/rt/pi_windows.h"

namespace fr {

inline constexpr double kPi = 0x1.921fb54442d18p+1, kPiLo = 0x1.1a62633145c07p-53, kPiLast = -0x1.f1976b7ed8fbcp-109;
inline constexpr double kInversePi = 0x1.45f306dc9c883p-2;
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1, kQuarterPiLo = 0x1.1a62633145c07p-55;

// (sin(r) - r) / r**3 for |r| <= pi/2, z = r**2.
FR_INLINE double sin_tail(double z) {
  return horner(z, -0x1.5555555555555p-3, 0x1.1111111111107p-7, -0x1.a01a01a018ab0p-13, 0x1.71de3a545685fp-19,
                -0x1.ae6455a1ded7dp-26, 0x1.6124015c78a0ep-33, -0x1.ae5138b81c9a3p-41, 0x1.89a47abc03671p-49);
}
// The same to 35 bits.
FR_INLINE double sin_tail_short(double z) {
  return horner(z, -0x1.5555555461858p-3, 0x1.11110fdb9b0c4p-7, -0x1.a019062b17164p-13, 0x1.7196a2beeb6e3p-19,
                -0x1.9db37071b65f5p-26);
}

// (tan(r) - r) / r**3 for |r| <= pi/4, z = r**2.
FR_INLINE double tan_tail(double z) {
  return horner(z, 0x1.5555555555555p-2, 0x1.1111111111088p-3, 0x1.ba1ba1ba2b8c0p-5, 0x1.664f487ced2b4p-6,
                0x1.226e367c21c88p-7, 0x1.d6d38f1c2fc44p-9, 0x1.7da851a0775aap-10, 0x1.35179bafb4f30p-11,
                0x1.fa216ed70455bp-13, 0x1.7810bf72ffc6bp-14, 0x1.d7a8ac09aa029p-15, -0x1.8e80320bc1802p-17,
                0x1.38b6c8ac8a4e6p-15, -0x1.39eed826c55a3p-16, 0x1.1fbe56f510019p-17);
}
FR_INLINE double tan_tail_short(double z) {
  return horner(z, 0x1.5555554c112efp-2, 0x1.11111f969757bp-3, 0x1.ba142d06af7aep-5, 0x1.670910e11c1ccp-6,
                0x1.19a241ef4059ep-7, 0x1.244889f8c4cf9p-8, -0x1.577ed9740b476p-15, 0x1.da08a04b23158p-10);
}

// (arcsin(x) - x) / x**3 for |x| <= 1/2, z = x**2.
FR_INLINE double arcsin_tail(double z) {
  return horner(z, 0x1.5555555555556p-3, 0x1.3333333332e3fp-4, 0x1.6db6db6e3eebep-5, 0x1.f1c71c16176eap-6,
                0x1.6e8bb2ee11010p-6, 0x1.1c4d1b9cc47e8p-6, 0x1.c9d1fd02b3227p-7, 0x1.780a2925ccf7cp-7,
                0x1.52f4bab89dbdep-7, 0x1.5fd03c9360858p-8, 0x1.20fb468869f69p-6, -0x1.f2869295a8db2p-7,
                0x1.db2081c4ba9bcp-6);
}
FR_INLINE float arcsin_tail(float z) {
  return horner(z, 0.166666731f, 0.0749876168f, 0.045020209f, 0.0264333732f, 0.0383283242f);
}

// (arctan(t) - t) / t**3 for |t| <= tan(pi/8), z = t**2.
FR_INLINE double arctan_tail(double z) {
  return horner(z, -0x1.5555555555555p-2, 0x1.99999999993a7p-3, -0x1.249249243a5fap-3, 0x1.c71c7187b4c93p-4,
                -0x1.745d0b85bc73cp-4, 0x1.3b126ae8e3876p-4, -0x1.10fadfd13dcb2p-4, 0x1.dfecefc0cb7bbp-5,
                -0x1.a0ba76497bc03p-5, 0x1.41bc9dcc30a6ep-5, -0x1.3b02ac711847bp-6);
}
FR_INLINE float arctan_tail(float z) {
  return horner(z, -0.333333319f, 0.199995593f, -0.142645012f, 0.107487953f, -0.0646662752f);
}

// An angle r + lo of at most a quarter turn, and whether the half turns taken off it were odd.
struct Angle {
  double r, lo;
  bool odd;
};

// a + b as the rounded sum and its error.
struct Sum {
  double value, error;
};
FR_INLINE Sum two_sum(double a, double b) {
  const double value = a + b, back = value - a;
  return {value, (a - (value - back)) + (b - back)};
}

// x without its multiples of 2, for |x| <= 2**69.
FR_INLINE double modulo_two(double x) { return fma(-2.0, __builtin_rint(x * 0.5), x); }

// The row of kPiWindows for an argument whose last bit has weight 2**last, and the argument scaled to go with it.
FR_INLINE int64_t window_row(int64_t last) { return int64_t(uint64_t(last > 0 ? last : 0) >> 4); }
FR_INLINE double window_scale(int64_t row) { return from_bits<double>(uint64_t(1023 - 16 * row) << 52); }

// x / pi without its multiples of 2, in two parts, for a finite x >= 0.
FR_INLINE Sum half_turns(double x) {
  const int64_t row = window_row(int64_t(to_bits(x) >> 52) - 1075);
  const double y = x * window_scale(row);
  const double c0 = kPiWindows[row][0], c1 = kPiWindows[row][1], c2 = kPiWindows[row][2], c3 = kPiWindows[row][3];
  const double p0 = y * c0, e0 = fma(y, c0, -p0);
  const double p1 = y * c1, e1 = fma(y, c1, -p1);
  const double p2 = y * c2, e2 = fma(y, c2, -p2);
  // Every sum that can cancel keeps its error: doubles come as near as 2**-62 to a multiple of pi/2.
  const Sum a = two_sum(modulo_two(p0), modulo_two(e0));
  const Sum b = two_sum(a.value, modulo_two(p1));
  const Sum c = two_sum(e1, p2);
  const Sum d = two_sum(b.value, c.value);
  const Sum e = two_sum(d.value, a.error);
  return {e.value, (e.error + d.error) + (b.error + (c.error + fma(y, c3, e2)))};
}

// The same for a float, whose 24 bits need two doubles of 1/pi.
FR_INLINE Sum half_turns(float x) {
  const int64_t row = window_row(int64_t(to_bits(x) >> 23) - 150);
  const double y = double(x) * window_scale(row);
  const double c0 = kPiWindows[row][0], c1 = kPiWindows[row][1];
  const double p0 = y * c0, e0 = fma(y, c0, -p0);
  return {modulo_two(p0), fma(y, c1, e0)};
}

// Takes off whole half turns from turns + quarters / 2.
FR_INLINE Angle angle_of(Sum turns, double quarters) {
  const double whole = __builtin_rint(turns.value + turns.error + quarters * 0.5);
  const Sum f = two_sum(turns.value - (whole - quarters * 0.5), turns.error);
  const double r = f.value * kPi;
  return {r, fma(f.value, kPi, -r) + fma(f.value, kPiLo, f.error * kPi),
          fma(-2.0, __builtin_rint(whole * 0.5), whole) != 0};
}

// x + quarters * pi/2 reduced by three parts of pi, for |x| <= 2**30: the first two differences are exact.
FR_INLINE Angle bounded_angle(double x, double quarters) {
  const double whole = __builtin_rint(fma(x, kInversePi, quarters * 0.5));
  const double n = whole - quarters * 0.5;
  const double near = fma(-n, kPi, x), r = fma(-n, kPiLo, near);
  const double lo = fma(-n, kPiLast, fma(-n, kPiLo, near - r));
  return {r, lo, fma(-2.0, __builtin_rint(whole * 0.5), whole) != 0};
}

FR_INLINE double sin_of(Angle a) {
  const double z = a.r * a.r;
  const double s = a.r + fma(a.r * z, sin_tail(z), fma(-0.5 * z, a.lo, a.lo));
  return a.odd ? -s : s;
}
FR_INLINE double sin_of_short(Angle a) {
  const double z = a.r * a.r, s = fma(a.r * z, sin_tail_short(z), a.r);
  return a.odd ? -s : s;
}

// Of an angle within an eighth turn after taking off `odd` quarter turns.
FR_INLINE double tan_of(Angle a) {
  const double z = a.r * a.r;
  const double t = a.r + fma(a.r * z, tan_tail(z), fma(z, a.lo, a.lo));
  return a.odd ? -1 / t : t;
}
FR_INLINE double tan_of_short(Angle a) {
  const double z = a.r * a.r, t = fma(a.r * z, tan_tail_short(z), a.r);
  return a.odd ? -1 / t : t;
}

// x with the sign bit of y flipped in where y is negative.
template <class T>
FR_INLINE T flip_sign(T x, T y) {
  return from_bits<T>(to_bits(x) ^ (to_bits(y) & FloatFacts<T>::sign));
}

// r, or a where a is so small that sin(a) and tan(a) are a. By bits: a conditional would put the loads of the table
// into a branch, which GCC does not vectorise.
FR_INLINE double unless_tiny(double a, double r) {
  const uint64_t tiny = mask_if<double>(a < 0x1p-27);
  return from_bits<double>((to_bits(a) & tiny) | (to_bits(r) & ~tiny));
}

FR_INLINE double sin(double x) {
  const double a = magnitude(x);
  return flip_sign(unless_tiny(a, sin_of(angle_of(half_turns(a), 0))), x);
}
FR_INLINE float sin(float x) {
  const float a = magnitude(x);
  return flip_sign(float(sin_of_short(angle_of(half_turns(a), 0))), x);
}

FR_INLINE double cos(double x) { return sin_of(angle_of(half_turns(magnitude(x)), 1)); }
FR_INLINE float cos(float x) { return float(sin_of_short(angle_of(half_turns(magnitude(x)), 1))); }

// Half turns as quarter turns: a number modulo 1 is enough for a tangent.
FR_INLINE Angle quarter_angle_of(Sum turns) {
  Angle a = angle_of({2 * turns.value, 2 * turns.error}, 0);
  a.r *= 0.5;
  a.lo *= 0.5;
  return a;
}

FR_INLINE double tan(double x) {
  const double a = magnitude(x);
  return flip_sign(unless_tiny(a, tan_of(quarter_angle_of(half_turns(a)))), x);
}
FR_INLINE float tan(float x) {
  const float a = magnitude(x);
  return flip_sign(float(tan_of_short(quarter_angle_of(half_turns(a)))), x);
}

namespace bounded {

// Whether the functions here are not right for x, as a mask to be joined by `|`: a bool would not vectorise.
template <class T>
FR_INLINE Bits<T> is_far(T x) {
  return mask_if<T>(magnitude(x) > T(0x1p30));
}

FR_INLINE double sin(double x) { return x == 0 ? x : sin_of(bounded_angle(x, 0)); }
FR_INLINE float sin(float x) { return float(x == 0 ? double(x) : sin_of_short(bounded_angle(x, 0))); }
FR_INLINE double cos(double x) { return sin_of(bounded_angle(x, 1)); }
FR_INLINE float cos(float x) { return float(sin_of_short(bounded_angle(x, 1))); }

}  // namespace bounded

template <class T>
FR_INLINE T arcsin(T x) {
  const T a = magnitude(x);
  const bool small = a <= T(0.5);
  const T z = small ? a * a : fma(T(-0.5), a, T(0.5));
  const T root = small ? a : sqrt(z);
  const T r = fma(root * z, arcsin_tail(z), root);
  return with_sign(small ? r : fma(T(-2), r, T(2 * kQuarterPiLo)) + T(2 * kQuarterPi), x);
}

template <class T>
FR_INLINE T arccos(T x) {
  const T a = magnitude(x);
  const bool small = a <= T(0.5);
  const T z = small ? a * a : fma(T(-0.5), a, T(0.5));
  const T root = small ? x : sqrt(z);
  const T r = fma(root * z, arcsin_tail(z), root);
  const T beyond = T(4 * kQuarterPi) - (T(2) * r - T(4 * kQuarterPiLo));
  const T large = x < T(0) ? beyond : T(2) * r;
  return small ? T(2 * kQuarterPi) - (r - T(2 * kQuarterPiLo)) : large;
}

// pi/4 in two parts whose first times a whole number up to 8 is exact.
template <class T>
inline constexpr T kEighthTurn = sizeof(T) == 8 ? T(kQuarterPi) : T(0x1.921fbp-1f);
template <class T>
inline constexpr T kEighthTurnLo = sizeof(T) == 8 ? T(kQuarterPiLo) : T(0x1.5110b4p-23f);

// arctan(smaller / larger) for 0 <= smaller <= larger as eighths * pi/4 + rest: beyond tan(pi/8) the quotient is turned
// back by an eighth of a turn.
template <class T>
struct Arc {
  T eighths, rest;
};
template <class T>
FR_INLINE Arc<T> arc(T smaller, T larger) {
  const bool turned = smaller > T(0.41421356237309504880) * larger;
  const T t = (turned ? smaller - larger : smaller) / (turned ? smaller + larger : larger);
  const T z = t * t;
  return {turned ? T(1) : T(0), fma(t * z, arctan_tail(z), t)};
}

template <class T>
FR_INLINE T arctan(T x) {
  const T a = magnitude(x);
  const bool steep = a > T(1);
  const Arc<T> s = arc(steep ? T(1) : a, steep ? a : T(1));
  const T eighths = steep ? T(2) - s.eighths : s.eighths;
  const T rest = steep ? -s.rest : s.rest;
  const T r = fma(eighths, kEighthTurn<T>, fma(eighths, kEighthTurnLo<T>, rest));
  return with_sign(a == FloatFacts<T>::inf ? T(2 * kQuarterPi) : r, x);
}

// The angle of (x, y), y first.
template <class T>
FR_INLINE T arctan2(T y, T x) {
  constexpr T inf = FloatFacts<T>::inf, huge = FloatFacts<T>::max / 4;
  T a = magnitude(x), b = magnitude(y);
  const bool diagonal = (a == inf) & (b == inf);
  const T fit = ((a > huge) | (b > huge)) ? T(0.25) : T(1);  // so that the sum below stays finite
  a = diagonal ? T(1) : a * fit;
  b = diagonal ? T(1) : b * fit;
  const bool steep = b > a;
  const T smaller = steep ? a : b, larger = steep ? b : a;
  const Arc<T> s = arc(smaller, larger == T(0) ? T(1) : larger);
  // Reflections at the diagonal, then at the vertical.
  const T up = steep ? T(2) - s.eighths : s.eighths, up_rest = steep ? -s.rest : s.rest;
  const bool left = signbit(x);
  const T eighths = left ? T(4) - up : up, rest = left ? -up_rest : up_rest;
  const T r = fma(eighths, kEighthTurn<T>, fma(eighths, kEighthTurnLo<T>, rest));
  return ((x != x) | (y != y)) ? x + y : with_sign(r, y);
}

}  // namespace fr
