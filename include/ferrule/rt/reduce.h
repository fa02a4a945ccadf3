// Reductions whose order of operations is fixed by the extent alone: the same bits for any vector width, any number of
// threads, and whether the reduced axis is the contiguous one or not. The error grows as that of pairwise summation.
//
// The tree over n elements: leaves of kLeaf consecutive elements; in a leaf, element i joins lane i % kLanes, in order;
// the lanes join in halves (lane l with lane l + kLanes/2, and so on); the leaves join in a binary tree from the left,
// as a binary counter carries. A lane that no element reached holds the neutral value, which changes no bit of what it
// joins. A leaf of fewer than kInOrder elements joins from left to right, as NumPy joins so few.
//
// Integer and logical reductions do not depend on the order and are plain loops.
#pragma once

#include "ferrule/rt/ops.h"

namespace fr {

inline constexpr int kLanes = 32;
inline constexpr int kLeaf = 2048;
inline constexpr int kInOrder = 8;
// Columns that reduce_rows carries at a time. kLanes * 64 accumulators stay in the first-level cache; operands beyond
// the second-level cache gain more from rows of whole pages (2000 x 2000 doubles: 0.55 instead of 0.95 ns an element).
inline constexpr int kColumns = 64, kWideColumns = 256;
inline constexpr int64_t kWideBytes = 1 << 20;
// Enough levels of the binary counter for 2**63 elements.
inline constexpr int kLevels = 53;

// One struct a reduction row of the table, named as the row: `identity` is the value that a reduction starts from,
// `neutral` the value that joins without a trace, `join` one step, `ordered` tells whether the order shows in the bits.
namespace reduction {

template <class T>
struct sum {
  using Value = T;
  static constexpr bool ordered = is_float<T>;
  static constexpr T identity = T(0);
  // x + -0.0 is x for every x, so that skipping a lane and joining it are the same.
  static constexpr T neutral = is_float<T> ? T(-0.0) : T(0);
  static FR_INLINE T join(T a, T x) { return add(a, x); }
};

template <class T>
struct prod {
  using Value = T;
  static constexpr bool ordered = is_float<T>;
  static constexpr T identity = T(1), neutral = T(1);
  static FR_INLINE T join(T a, T x) { return multiply(a, x); }
};

template <class T>
constexpr T lowest() {
  if constexpr (is_float<T>)
    return -FloatFacts<T>::inf;
  else if constexpr (is_signed_int<T>)
    return T(Bits<T>(1) << (sizeof(T) * 8 - 1));
  else
    return T(0);
}

template <class T>
constexpr T highest() {
  if constexpr (is_float<T>)
    return FloatFacts<T>::inf;
  else if constexpr (is_bool<T>)
    return true;
  else
    return T(~Bits<T>(lowest<T>()));
}

// NaN wins. A reduction of nothing is an error that the compiler raises, unless the program joins it with a value.
template <class T>
struct max {
  using Value = T;
  static constexpr bool ordered = is_float<T>;
  static constexpr T identity = lowest<T>(), neutral = lowest<T>();
  static FR_INLINE T join(T a, T x) { return maximum(x, a); }
};

template <class T>
struct min {
  using Value = T;
  static constexpr bool ordered = is_float<T>;
  static constexpr T identity = highest<T>(), neutral = highest<T>();
  static FR_INLINE T join(T a, T x) { return minimum(x, a); }
};

template <class T>
struct bit_and {
  using Value = T;
  static constexpr bool ordered = false;
  static constexpr T identity = is_bool<T> ? T(1) : T(~T(0)), neutral = identity;
  static FR_INLINE T join(T a, T x) { return bitwise_and(a, x); }
};

template <class T>
struct bit_or {
  using Value = T;
  static constexpr bool ordered = false;
  static constexpr T identity = T(0), neutral = T(0);
  static FR_INLINE T join(T a, T x) { return bitwise_or(a, x); }
};

template <class T>
struct bit_xor {
  using Value = T;
  static constexpr bool ordered = false;
  static constexpr T identity = T(0), neutral = T(0);
  static FR_INLINE T join(T a, T x) { return bitwise_xor(a, x); }
};

template <class T>
struct any {
  using Value = bool;
  static constexpr bool ordered = false;
  static constexpr bool identity = false, neutral = false;
  static FR_INLINE bool join(bool a, bool x) { return logical_or(a, x); }
};

template <class T>
struct all {
  using Value = bool;
  static constexpr bool ordered = false;
  static constexpr bool identity = true, neutral = true;
  static FR_INLINE bool join(bool a, bool x) { return logical_and(a, x); }
};

}  // namespace reduction

// Joins lanes of `width` accumulators each, lane l at lane[l * width], in halves into lane 0. Lanes from `used` on are
// neutral and skipped.
template <class R, class T>
FR_INLINE void join_lanes(T* lane, int used, int width) {
  if (used < kInOrder) {
    for (int l = 1; l < used; ++l) {
      for (int j = 0; j < width; ++j) lane[j] = R::join(lane[j], lane[l * width + j]);
    }
    return;
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half && l + half < used; ++l) {
      T* const left = lane + l * width;
      const T* const right = lane + (l + half) * width;
      for (int j = 0; j < width; ++j) left[j] = R::join(left[j], right[j]);
    }
    used = used < half ? used : half;
  }
}

// The same for one accumulator a lane and a leaf of n elements.
template <class R, class T>
FR_INLINE T join_single_lanes(T (&lane)[kLanes], int n) {
  if (n < kInOrder) {
    for (int l = 1; l < n; ++l) lane[0] = R::join(lane[0], lane[l]);
    return lane[0];
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] = R::join(lane[l], lane[l + half]);
  }
  return lane[0];
}

// Partial results of whole leaves, joined as a binary counter carries.
template <class R, class T>
struct LeafCounter {
  T stack[kLevels];
  int top = 0;
  int64_t leaves = 0;

  FR_INLINE void push(T value) {
    for (int64_t carry = leaves; carry & 1; carry >>= 1) value = R::join(stack[--top], value);
    stack[top++] = value;
    ++leaves;
  }
  FR_INLINE T result() {
    T value = stack[--top];
    while (top > 0) value = R::join(stack[--top], value);
    return value;
  }
};

// The value of one leaf of n <= kLeaf elements from `begin` on.
template <class R, class T, class F>
FR_INLINE T reduce_leaf(int64_t begin, int n, const F& f) {
  T lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = R::neutral;
  int i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = R::join(lane[l], f(begin + i + l));
  }
  for (int l = 0; i + l < n; ++l) lane[l] = R::join(lane[l], f(begin + i + l));
  return join_single_lanes<R>(lane, n);
}

// Any or all of f(0) ... f(n-1), looking in blocks and leaving at the first that decides. f must have no effects.
template <class R, class F>
FR_INLINE bool reduce_logical(int64_t n, const F& f) {
  constexpr int block = 256;
  int64_t i = 0;
  for (; i + block <= n; i += block) {
    uint8_t differs = 0;
    for (int l = 0; l < block; ++l) differs |= uint8_t(f(i + l) != R::identity);
    if (differs) return !R::identity;
  }
  for (; i < n; ++i) {
    if (f(i) != R::identity) return !R::identity;
  }
  return R::identity;
}

// R over f(0), ..., f(n-1), where f is `T operator()(int64_t i) const`, inlined and vectorised. R::identity for n <= 0.
template <class R, class F>
FR_INLINE typename R::Value reduce(int64_t n, const F& f) {
  using T = typename R::Value;
  if constexpr (__is_same(R, reduction::any<bool>) || __is_same(R, reduction::all<bool>)) {
    return reduce_logical<R>(n, f);
  } else if constexpr (!R::ordered) {
    T value = R::identity;
    for (int64_t i = 0; i < n; ++i) value = R::join(value, f(i));
    return value;
  } else {
    if (n <= 0) return R::identity;
    LeafCounter<R, T> counter;
    for (int64_t i = 0; i < n; i += kLeaf) counter.push(reduce_leaf<R, T>(i, n - i < kLeaf ? int(n - i) : kLeaf, f));
    return R::join(R::identity, counter.result());
  }
}

// The same value, with f spelled out once and the elements taken one after the other: for an f that is itself a loop,
// such as the inner part of a reduction over two axes.
template <class R, class F>
FR_INLINE typename R::Value reduce_outer(int64_t n, const F& f) {
  using T = typename R::Value;
  if constexpr (!R::ordered) {
    return reduce<R>(n, f);
  } else {
    if (n <= 0) return R::identity;
    LeafCounter<R, T> counter;
    for (int64_t begin = 0; begin < n; begin += kLeaf) {
      const int size = n - begin < kLeaf ? int(n - begin) : kLeaf;
      T lane[kLanes];
      for (int l = 0; l < kLanes; ++l) lane[l] = R::neutral;
      for (int i = 0; i < size; ++i) lane[i % kLanes] = R::join(lane[i % kLanes], f(begin + i));
      counter.push(join_single_lanes<R>(lane, size));
    }
    return R::join(R::identity, counter.result());
  }
}

// reduce_rows where the order shows in the bits.
template <class R, class F, class Store>
FR_INLINE void reduce_ordered_rows(int64_t n, int64_t m, const F& f, const Store& store) {
  using T = typename R::Value;
  T lane[kLanes * kWideColumns];
  T stack[kLevels * kWideColumns];
  const int columns = n > 0 && m > kWideBytes / int64_t(sizeof(T)) / n ? kWideColumns : kColumns;
  for (int64_t first = 0; first < m; first += columns) {
    const int width = m - first < columns ? int(m - first) : columns;
    int top = 0;
    int64_t leaves = 0;
    for (int64_t begin = 0; begin < n; begin += kLeaf, ++leaves, ++top) {
      const int size = n - begin < kLeaf ? int(n - begin) : kLeaf;
      const int used = size < kLanes ? size : kLanes;
      for (int i = 0; i < used; ++i) {
        for (int j = 0; j < width; ++j) lane[i * width + j] = f(begin + i, first + j);
      }
      for (int i = used; i < size; ++i) {
        T* const row = lane + i % kLanes * width;
        for (int j = 0; j < width; ++j) row[j] = R::join(row[j], f(begin + i, first + j));
      }
      join_lanes<R>(lane, used, width);
      for (int64_t carry = leaves; carry & 1; carry >>= 1) {
        --top;
        for (int j = 0; j < width; ++j) lane[j] = R::join(stack[top * width + j], lane[j]);
      }
      for (int j = 0; j < width; ++j) stack[top * width + j] = lane[j];
    }
    for (; top > 1; --top) {
      T* const left = stack + (top - 2) * width;
      for (int j = 0; j < width; ++j) left[j] = R::join(left[j], left[width + j]);
    }
    for (int j = 0; j < width; ++j) store(first + j, n > 0 ? R::join(R::identity, stack[j]) : R::identity);
  }
}

// store(j, R over f(0, j), ..., f(n-1, j)) for every j in [0, m): for reduced axes that are not the contiguous one. The
// inner loops run over j and vectorise; each result has the bits that `reduce` gives. `f` is `T operator()(int64_t i,
// int64_t j) const`; what it computes from i alone is hoisted out of the loop over j.
template <class R, class F, class Store>
FR_INLINE void reduce_rows(int64_t n, int64_t m, const F& f, const Store& store) {
  using T = typename R::Value;
  if constexpr (!R::ordered) {
    T value[kWideColumns];
    for (int64_t first = 0; first < m; first += kWideColumns) {
      const int width = m - first < kWideColumns ? int(m - first) : kWideColumns;
      for (int j = 0; j < width; ++j) value[j] = R::identity;
      for (int64_t i = 0; i < n; ++i) {
        for (int j = 0; j < width; ++j) value[j] = R::join(value[j], f(i, first + j));
      }
      for (int j = 0; j < width; ++j) store(first + j, value[j]);
    }
  } else {
    reduce_ordered_rows<R>(n, m, f, store);
  }
}

}  // namespace fr
