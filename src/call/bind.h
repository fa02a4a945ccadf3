// Binding: tests arguments against a plan and fills a Frame. The steps that every call takes are inline; nothing here makes
// an error text or allocates. Each function returns false after setting Frame::mismatch.
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
void bind_none(const CallPlan& plan, const ArgPlan& arg, Frame& frame);

bool define_solved(const ArgPlan& arg, const Define& define, int64_t value, Frame& frame);

// Takes an array whose dtype, rank and layout have been tested.
inline bool bind_array(const CallPlan& plan, const ArgPlan& arg, Frame& frame, void* data, const int64_t* shape,
                       const int64_t* byte_strides) {
  frame.pointers[arg.index] = data;
  frame.shapes[arg.index] = shape;
  frame.byte_strides[arg.index] = byte_strides;
  for (uint32_t d = arg.first_define; d < arg.end_define; ++d) {
    const Define& define = plan.defines[d];
    int64_t value = shape[define.axis];
    if (define.stride) value = value > 1 ? byte_strides[define.axis] / arg.item : 0;
    if (define.plain) [[likely]]
      frame.symbols[define.symbol] = value;
    else if (!define_solved(arg, define, value, frame))
      return false;
  }
  return true;
}

// Takes a scalar whose value lies in frame.scalars[arg.index].
bool bind_scalar(const CallPlan& plan, const ArgPlan& arg, Frame& frame);

bool apply_explicit_symbols(const CallPlan& plan, Frame& frame);

// Whether the overlap of the bound arrays is one that `run` allows.
bool test_overlap(const CallPlan& plan, Frame& frame);

// After all arguments: explicit symbols, extents across arrays, guards, overlap, extents of the results.
inline Fit finish_binding(const CallPlan& plan, Frame& frame) {
  if (frame.n_explicit != 0 || !plan.explicit_symbols.empty()) [[unlikely]]
    if (!apply_explicit_symbols(plan, frame)) return Fit::Refused;
  int32_t index = 0;
  for (const Check& check : plan.checks) {
    const int64_t* shape = frame.shapes[check.arg];
    if (shape != nullptr) [[likely]] {
      int64_t value = shape[check.axis];
      const bool skip = check.stride && value <= 1;
      if (check.stride) value = frame.byte_strides[check.arg][check.axis] / plan.args[static_cast<size_t>(check.arg)].item;
      const Evaluated expected = check.expected.eval(frame.symbols, frame.pointers);
      if ((value != expected.value || expected.overflow) && !skip) [[unlikely]] {
        frame.mismatch = {Reason::Extent, check.arg, check.axis, index, value};
        return Fit::Refused;
      }
    }
    ++index;
  }
  index = 0;
  for (const GuardPlan& guard : plan.guards) {
    const Evaluated holds = guard.condition.eval(frame.symbols, frame.pointers);
    if (holds.value == 0 || holds.overflow) [[unlikely]] {
      frame.mismatch = {Reason::Guard, -1, -1, index, 0};
      return Fit::Refused;
    }
    ++index;
  }
  for (const ReturnPlan& result : plan.returns) {
    if (result.kind != FR_RETURN_ARRAY) continue;
    for (int32_t axis = 0; axis < result.rank; ++axis) {
      const uint32_t e = result.first_extent + static_cast<uint32_t>(axis);
      const Evaluated extent = plan.return_extents[e].eval(frame.symbols, frame.pointers);
      if (extent.value < 0 || extent.overflow) [[unlikely]] {
        frame.mismatch = {Reason::ReturnExtent, -1, axis, static_cast<int32_t>(&result - plan.returns.data()),
                          extent.value};
        return Fit::Refused;
      }
      frame.extents[e] = extent.value;
    }
  }
  if (plan.pairs.empty() || test_overlap(plan, frame)) return Fit::Run;
  return plan.module->run_alias != nullptr ? Fit::RunAlias : Fit::Refused;
}

}  // namespace ferrule
