// The functors that choose or bound values.
#pragma once

#include "ferrule/rt/base.h"

namespace fr {

// Equal operands (zeros of either sign) give the second, as NumPy's vector loops do.

template <class T>
FR_INLINE T maximum(T x, T y) {
  if constexpr (is_float<T>)
    return ((x > y) | (x != x)) ? x : y;
  else if constexpr (is_bool<T>)
    return x | y;
  else
    return x > y ? x : y;
}

template <class T>
FR_INLINE T minimum(T x, T y) {
  if constexpr (is_float<T>)
    return ((x < y) | (x != x)) ? x : y;
  else if constexpr (is_bool<T>)
    return x & y;
  else
    return x < y ? x : y;
}

template <class T>
FR_INLINE T fmax(T x, T y) {
  if constexpr (is_float<T>)
    return ((x > y) | (y != y)) ? x : y;
  else if constexpr (is_bool<T>)
    return x | y;
  else
    return x > y ? x : y;
}

template <class T>
FR_INLINE T fmin(T x, T y) {
  if constexpr (is_float<T>)
    return ((x < y) | (y != y)) ? x : y;
  else if constexpr (is_bool<T>)
    return x & y;
  else
    return x < y ? x : y;
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
  if constexpr (is_bool<T>)
    return (condition & x) | (!condition & y);
  else
    return condition ? x : y;
}

}  // namespace fr
