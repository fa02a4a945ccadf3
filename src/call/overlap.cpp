#include "call/overlap.h"

#include <algorithm>
#include <cstdlib>

namespace ferrule {
namespace {

constexpr int kMostTerms = 64;
constexpr int kMostVisits = 200;

// stride * t with 0 <= t <= last.
struct Term {
  int64_t stride, last;
};

// Solutions of sum(stride_k * t_k) in [low, high], as a depth-first search over the largest strides first: what the
// smaller ones can still add bounds the choices, so nested strides leave one or two of them.
class Search {
 public:
  // A term of either sign; a negative one is turned round by moving the target.
  void add(int64_t stride, int64_t last) {
    if (stride == 0 || last == 0) return;
    if (stride < 0) shift_ -= stride * last;
    stride = std::abs(stride);
    for (int i = 0; i < n_; ++i)
      if (terms_[i].stride == stride) {
        terms_[i].last += last;
        return;
      }
    terms_[n_++] = {stride, last};
  }

  bool may_reach(int64_t low, int64_t high) {
    std::sort(terms_, terms_ + n_, [](const Term& a, const Term& b) { return a.stride > b.stride; });
    reach_[n_] = 0;
    for (int i = n_ - 1; i >= 0; --i) reach_[i] = reach_[i + 1] + terms_[i].stride * terms_[i].last;
    return visit(0, low + shift_, high + shift_);
  }

 private:
  bool visit(int k, int64_t low, int64_t high) {
    if (++visits_ > kMostVisits) return true;
    if (high < 0 || low > reach_[k]) return false;
    if (k == n_) return true;
    const Term& term = terms_[k];
    const int64_t rest = reach_[k + 1];
    const int64_t first = low <= rest ? 0 : (low - rest + term.stride - 1) / term.stride;
    const int64_t last = std::min(term.last, high / term.stride);
    for (int64_t t = first; t <= last; ++t)
      if (visit(k + 1, low - t * term.stride, high - t * term.stride)) return true;
    return false;
  }

  Term terms_[kMostTerms];
  int64_t reach_[kMostTerms + 1];  // the most that terms k, k + 1, ... add
  int64_t shift_ = 0;
  int n_ = 0;
  int visits_ = 0;
};

}  // namespace

bool identical(const Strided& a, const Strided& b) {
  if (a.data != b.data || a.item != b.item || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (a.shape[axis] != b.shape[axis] || (a.shape[axis] > 1 && a.byte_strides[axis] != b.byte_strides[axis]))
      return false;
  return true;
}

bool may_share_bytes(const Strided& a, const Strided& b) {
  // Elements at a.data + p and b.data + q share a byte iff -b.item < (a.data + p) - (b.data + q) < a.item, with the
  // sides exchanged as the difference is written: q - p in (d - b.item, d + a.item), d = a.data - b.data.
  Search search;
  for (int axis = 0; axis < a.rank; ++axis) search.add(-a.byte_strides[axis], a.shape[axis] - 1);
  for (int axis = 0; axis < b.rank; ++axis) search.add(b.byte_strides[axis], b.shape[axis] - 1);
  const int64_t d = a.data - b.data;
  return search.may_reach(d - b.item + 1, d + a.item - 1);
}

bool may_overlap_itself(const Strided& a) {
  Term axes[kMostTerms / 2];
  int n = 0;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.shape[axis] == 0) return false;
    if (a.shape[axis] > 1) axes[n++] = {std::abs(a.byte_strides[axis]), a.shape[axis] - 1};
  }
  std::sort(axes, axes + n, [](const Term& x, const Term& y) { return x.stride < y.stride; });
  int64_t reach = a.item;
  for (int i = 0; i < n; ++i) {
    if (axes[i].stride < reach) return true;
    reach += axes[i].stride * axes[i].last;
  }
  return false;
}

}  // namespace ferrule
