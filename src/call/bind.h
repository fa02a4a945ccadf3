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

bool define_solved(const ArgPlan& arg, const Define& define, int64_t value, Frame& frame);

// Takes an array whose dtype, rank and layout have been tested.
inline bool bind_array(const ArgPlan& arg, Frame& frame, void* data, const int64_t* shape,
                       const int64_t* byte_strides) {
  frame.pointers[arg.index] = data;
  frame.shapes[arg.index] = shape;
  frame.byte_strides[arg.index] = byte_strides;
  if (arg.ranged)
    frame.ranges[arg.index] = range_of({static_cast<const char*>(data), arg.item, arg.rank, shape, byte_strides});
  for (const Define* define = arg.defines; define != arg.defines_end; ++define) {
    int64_t value = shape[define->axis];
    if (define->stride) value = value > 1 ? byte_strides[define->axis] / arg.item : 0;
    if (define->plain) [[likely]]
      frame.symbols[define->symbol] = value;
    else if (!define_solved(arg, *define, value, frame))
      return false;
  }
  return true;
}

// Takes a scalar whose value lies in frame.scalars[arg.index].
bool bind_scalar(const CallPlan& plan, const ArgPlan& arg, Frame& frame);

bool apply_explicit_symbols(const CallPlan& plan, Frame& frame);

// For a pair whose ranges meet: whether it is an overlap that `run` allows, or none after all.
bool allows_meeting(const CallPlan& plan, const PairPlan& pair, Frame& frame);

// The value that a check is about; for strides also whether the axis is too short to have one.
inline bool value_of(const CallPlan& plan, const Check& check, const Frame& frame, int64_t& value) {
  const int64_t* shape = frame.shapes[check.arg];
  if (shape == nullptr) return false;  // None
  value = shape[check.axis];
  if (!check.stride) [[likely]]
    return true;
  if (value <= 1) return false;
  value = frame.byte_strides[check.arg][check.axis] / plan.args[static_cast<size_t>(check.arg)].item;
  return true;
}

bool evaluate_result_extents(const CallPlan& plan, Frame& frame);

// After all arguments: explicit symbols, extents across arrays, guards, extents of the results, overlap.
inline Fit finish_binding(const CallPlan& plan, Frame& frame) {
  if (frame.n_explicit != 0 || !plan.explicit_symbols.empty()) [[unlikely]]
    if (!apply_explicit_symbols(plan, frame)) return Fit::Refused;
  const int64_t* const symbols = frame.symbols;
  for (const Check& check : plan.checks) {
    int64_t value;
    if (!value_of(plan, check, frame, value)) continue;
    const Evaluated expected =
        check.symbol >= 0 ? Evaluated{symbols[check.symbol], false} : check.expected.eval(symbols, frame.pointers);
    if (value != expected.value || expected.overflow) [[unlikely]] {
      frame.mismatch = {Reason::Extent, check.arg, check.axis, static_cast<int32_t>(&check - plan.checks.data()),
                        value};
      return Fit::Refused;
    }
  }
  for (const GuardPlan& guard : plan.guards) {
    const Evaluated holds = guard.condition.eval(symbols, frame.pointers);
    if (holds.value == 0 || holds.overflow) [[unlikely]] {
      frame.mismatch = {Reason::Guard, -1, -1, static_cast<int32_t>(&guard - plan.guards.data()), 0};
      return Fit::Refused;
    }
  }
  if (!plan.return_extents.empty() && !evaluate_result_extents(plan, frame)) [[unlikely]]
    return Fit::Refused;
  for (const PairPlan& pair : plan.pairs)
    if (ranges_meet(frame.ranges[pair.written], frame.ranges[pair.other]) && !allows_meeting(plan, pair, frame)) [[unlikely]]
      return plan.module->run_alias != nullptr ? Fit::RunAlias : Fit::Refused;
  return Fit::Run;
}

}  // namespace ferrule
