// The state of one call while its arguments are bound: everything lies on the caller's stack unless the signature is
// huge.
#pragma once

#include <cstdint>
#include <memory>

#include "call/overlap.h"
#include "call/plan.h"
#include "call/scalar.h"

namespace ferrule {

// Why a call does not fit a plan. Texts are made from it in refuse.cpp, only when they are wanted.
enum class Reason : uint8_t {
  Rank,  // got: the rank given
  ReadOnly,
  Misaligned,
  Strides,          // not those of the layout class
  StrideMultiple,   // axis: its byte stride is no multiple of the item size
  SelfOverlap,      // a written array has elements on common bytes
  Solve,            // axis: the source does not solve for define `index`
  Negative,         // symbol `index` is below zero
  Extent,           // check `index` failed
  Guard,            // guard `index` failed
  Overlap,          // pair `index`
  NoOverlap,        // made for overlapping arguments alone, and these do not overlap
  ExplicitMissing,  // symbol `index`
  ExplicitDiffers,  // symbol `index`; got: the value given
  ReturnExtent,     // return `index`, axis: negative
  ReturnOverflow,   // return `index`, axis: beyond 64 bits
  Dtype,            // got: the FrDType given
};

// `arg` is -1 where no argument is meant; the others have a meaning as Reason says.
struct Mismatch {
  Reason reason;
  int32_t arg, axis, index;
  int64_t got;
};

// An array argument as it was given; `shape` is null for scalars and None, and may be for arrays of rank 0.
struct BoundArray {
  const int64_t* shape;
  const int64_t* byte_strides;
  Range range;  // of arrays that a PairPlan names
};

// Arrays in one block; each has one entry per argument unless it says otherwise.
class Frame {
 public:
  explicit Frame(const CallPlan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void** pointers;  // then one per return: FrCall::args
  BoundArray* arrays;
  int64_t* symbols;  // one per symbol, then one that nobody reads
  uint32_t n_explicit = 0;
  Mismatch mismatch;  // set when a function of bind.h says that the call does not fit, and only then

  // Then one per return.
  ScalarSlot* scalars() const { return at<ScalarSlot>(0); }
  // Of the returned arrays, as ReturnPlan::first_extent counts them.
  int64_t* extents() const { return at<int64_t>(layout_.extents); }
  // n_explicit of them; room for one per symbol.
  ExplicitSymbol* explicit_given() const { return at<ExplicitSymbol>(layout_.explicit_given); }

  bool fail(Mismatch m) {
    mismatch = m;
    return false;
  }

 private:
  template <class T>
  T* at(uint32_t offset) const {
    return reinterpret_cast<T*>(block_ + offset);
  }

  static constexpr size_t kInline = 2048;
  const FrameLayout& layout_;
  unsigned char* block_;
  std::unique_ptr<unsigned char[]> heap_;
  alignas(16) unsigned char inline_[kInline];
};

inline Frame::Frame(const CallPlan& plan) : layout_(plan.frame), block_(inline_) {
  if (layout_.bytes > kInline) [[unlikely]] {
    heap_.reset(new unsigned char[layout_.bytes]);
    block_ = heap_.get();
  }
  pointers = at<void*>(layout_.pointers);
  arrays = at<BoundArray>(layout_.arrays);
  symbols = at<int64_t>(layout_.symbols);
}

}  // namespace ferrule
