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

// Pointers into one block; each array has one entry per argument unless it says otherwise.
class Frame {
 public:
  explicit Frame(const CallPlan& plan);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void** pointers;         // then one per return: FrCall::args
  const int64_t** shapes;  // null for scalars and None
  const int64_t** byte_strides;
  int64_t* symbols;                // one per symbol
  ScalarSlot* scalars;             // then one per return
  Range* ranges;                   // of arrays that PairPlans name
  int64_t* extents;                // of the returned arrays, as ReturnPlan::first_extent counts them
  ExplicitSymbol* explicit_given;  // n_explicit of them; room for one per symbol
  uint32_t n_explicit = 0;
  Mismatch mismatch;  // set when a function of bind.h says that the call does not fit, and only then

  bool fail(Mismatch m) {
    mismatch = m;
    return false;
  }

 private:
  static constexpr size_t kInline = 2048;
  alignas(16) unsigned char inline_[kInline];
  std::unique_ptr<unsigned char[]> heap_;
};

inline Frame::Frame(const CallPlan& plan) {
  unsigned char* block = inline_;
  const FrameLayout& layout = plan.frame;
  if (layout.bytes > kInline) [[unlikely]] {
    heap_.reset(new unsigned char[layout.bytes]);
    block = heap_.get();
  }
  scalars = reinterpret_cast<ScalarSlot*>(block);
  ranges = reinterpret_cast<Range*>(block + layout.ranges);
  explicit_given = reinterpret_cast<ExplicitSymbol*>(block + layout.explicit_given);
  pointers = reinterpret_cast<void**>(block + layout.pointers);
  shapes = reinterpret_cast<const int64_t**>(block + layout.shapes);
  byte_strides = reinterpret_cast<const int64_t**>(block + layout.byte_strides);
  symbols = reinterpret_cast<int64_t*>(block + layout.symbols);
  extents = reinterpret_cast<int64_t*>(block + layout.extents);
}

}  // namespace ferrule
