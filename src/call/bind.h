// Binding: tests arguments against a plan and fills a Frame. The steps that every call takes are inline; nothing here
// makes an error text or allocates. Each function returns false after setting Frame::mismatch.
#pragma once

#include "call/frame.h"

namespace ferrule {

// How a bound call may run.
enum class Fit : uint8_t { Refused, Run, RunAlias };

// Writability, alignment, layout class, and for written arrays that no two elements share a byte. Arrays without
// elements pass; axes of one element have no stride.
bool test_layout(const ArgPlan& arg, Frame& frame, const void* data, const int64_t* shape, const int64_t* byte_strides,
                 bool writable);

// An argument that was left None: NULL for the module, and 0 for the symbols that it would give.
void bind_none(const ArgPlan& arg, Frame& frame);

// Whether the argument is an array, not None.
inline bool is_given_array(const ArgPlan& arg, const Frame& frame) {
  const bool without_axes = arg.rank == 0 && frame.pointers[arg.index] != nullptr;
  return arg.kind == FR_ARG_ARRAY && (frame.arrays[arg.index].shape != nullptr || without_axes);
}

// The steps that are not made inline.
bool make_step(const CallPlan& plan, const ArgPlan& arg, const Step& step, Frame& frame);

// Takes an array whose dtype, rank and layout have been tested.
inline bool bind_array(const CallPlan& plan, const ArgPlan& arg, Frame& frame, void* data, const int64_t* shape,
                       const int64_t* byte_strides) {
  frame.pointers[arg.index] = data;
  BoundArray& array = frame.arrays[arg.index];
  array.shape = shape;
  array.byte_strides = byte_strides;
  if (arg.ranged)
    array.range = arg.layout <= FR_LAYOUT_F
                      ? dense_range(data, arg.item, arg.rank, shape)
                      : range_of({static_cast<const char*>(data), arg.item, arg.rank, shape, byte_strides});
  int64_t* const symbols = frame.symbols;
  for (const Step* step = arg.steps; step != arg.steps_end; ++step) {
    const int64_t extent = shape[step->axis];
    if (step->kind == Step::Kind::DefineExtent) {
      symbols[step->symbol] = extent;
    } else if (step->kind == Step::Kind::CheckExtent) {
      if (symbols[step->symbol] != extent) [[unlikely]]
        return frame.fail({Reason::Extent, arg.index, step->axis, step->index, extent});
    } else if (step->kind == Step::Kind::CheckGuard) {
      if (symbols[step->symbol] != extent) [[unlikely]]
        return frame.fail({Reason::Guard, -1, -1, step->index, 0});
    } else if (!make_step(plan, arg, *step, frame)) {
      return false;
    }
  }
  return true;
}

// Takes a scalar whose value lies in frame.scalars()[arg.index].
bool bind_scalar(const CallPlan& plan, const ArgPlan& arg, Frame& frame);

// Whether an array that the program writes shares a byte with another argument of this bound call.
bool written_array_overlaps(const CallPlan& plan, const Frame& frame);

// The extent that tells the symbol where its source is None; null where none is given.
const OptionalSource::Place* told_by(const OptionalSource& source, const Frame& frame);

// Explicit symbols, extents across arrays, guards, extents of the results.
bool finish_symbols(const CallPlan& plan, Frame& frame);

// The pairs from `pair` on, whose ranges meet.
Fit finish_meeting_pairs(const CallPlan& plan, const PairPlan* pair, Frame& frame);

// What follows the arguments: finish_symbols(), then overlap.
[[gnu::always_inline]] inline Fit finish_binding(const CallPlan& plan, Frame& frame) {
  if ((frame.n_explicit != 0 || !plan.plain) && !finish_symbols(plan, frame)) [[unlikely]]
    return Fit::Refused;
  const BoundArray* const arrays = frame.arrays;
  for (const PairPlan& pair : plan.pairs)
    if (ranges_meet(arrays[pair.written].range, arrays[pair.other].range)) [[unlikely]]
      return finish_meeting_pairs(plan, &pair, frame);
  return Fit::Run;
}

}  // namespace ferrule
