#include "call/bind.h"

#include "base/entries.h"

namespace ferrule {
namespace {

bool has_no_elements(const ArgPlan& arg, const int64_t* shape) {
  for (int32_t axis = 0; axis < arg.rank; ++axis)
    if (shape[axis] == 0) return true;
  return false;
}

bool is_dense(const ArgPlan& arg, const int64_t* shape, const int64_t* byte_strides) {
  int64_t expected = arg.item;
  for (int32_t k = 0; k < arg.rank; ++k) {
    const int32_t axis = arg.layout == FR_LAYOUT_F ? k : arg.rank - 1 - k;
    if (shape[axis] > 1 && byte_strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

Strided strided(const ArgPlan& arg, const Frame& frame) {
  return {static_cast<const char*>(frame.pointers[arg.index]), arg.item, arg.rank, frame.arrays[arg.index].shape,
          frame.arrays[arg.index].byte_strides};
}

// The checks that needed all symbols.
bool make_late_checks(const CallPlan& plan, Frame& frame) {
  for (const int32_t index : plan.late_checks) {
    const Check& check = plan.checks[static_cast<size_t>(index)];
    const BoundArray& array = frame.arrays[check.arg];
    if (array.shape == nullptr) continue;  // None
    int64_t value = array.shape[check.axis];
    if (check.stride) {
      const ArgPlan& arg = plan.args[static_cast<size_t>(check.arg)];
      if (value <= 1 || has_no_elements(arg, array.shape)) continue;
      value = array.byte_strides[check.axis] / arg.item;
    }
    const Evaluated expected = check.expected.eval(frame.symbols, frame.pointers);
    if (value != expected.value || expected.overflow)
      return frame.fail({Reason::Extent, check.arg, check.axis, index, value});
  }
  return true;
}

// Symbols whose own source was left None: from another array, or from the caller.
void tell_symbols(const CallPlan& plan, Frame& frame) {
  for (const OptionalSource& source : plan.optional_sources) {
    if (frame.arrays[source.arg].shape != nullptr) continue;
    for (uint32_t i = 0; i < frame.n_explicit; ++i)
      if (frame.explicit_given()[i].symbol == source.symbol)
        frame.symbols[source.symbol] = frame.explicit_given()[i].value;
    if (const OptionalSource::Place* place = told_by(source, frame); place != nullptr)
      frame.symbols[source.symbol] = frame.arrays[place->arg].shape[place->axis];
  }
}

bool derive_symbols(const CallPlan& plan, Frame& frame) {
  for (const Derived& derived : plan.derived) {
    const Evaluated result = derived.expr.eval(frame.symbols, frame.pointers);
    if (result.overflow) return frame.fail({Reason::Solve, -1, -1, derived.symbol, 0});
    if (result.value < 0 && !derived.may_be_negative)
      return frame.fail({Reason::Negative, -1, -1, derived.symbol, result.value});
    frame.symbols[derived.symbol] = result.value;
  }
  return true;
}

bool apply_required_symbols(const CallPlan& plan, Frame& frame) {
  for (const int32_t required : plan.explicit_symbols) {
    bool given = false;
    for (uint32_t i = 0; i < frame.n_explicit; ++i) {
      if (frame.explicit_given()[i].symbol != required) continue;
      frame.symbols[required] = frame.explicit_given()[i].value;
      given = true;
    }
    if (!given) return frame.fail({Reason::ExplicitMissing, -1, -1, required});
  }
  return true;
}

bool compare_explicit_symbols(const CallPlan& plan, Frame& frame) {
  for (uint32_t i = 0; i < frame.n_explicit; ++i) {
    const auto [symbol, value] = frame.explicit_given()[i];
    if (frame.symbols[symbol] != value) return frame.fail({Reason::ExplicitDiffers, -1, -1, symbol, value});
    if (value < 0 && (entry_at(plan.module->symbols, static_cast<uint32_t>(symbol)).flags & 1) == 0)
      return frame.fail({Reason::Negative, -1, -1, symbol, value});
  }
  return true;
}

bool evaluate_result_extents(const CallPlan& plan, Frame& frame) {
  for (const ReturnPlan& result : plan.returns) {
    if (result.kind != FR_RETURN_ARRAY) continue;
    for (int32_t axis = 0; axis < result.rank; ++axis) {
      const uint32_t e = result.first_extent + static_cast<uint32_t>(axis);
      const Evaluated extent = plan.return_extents[e].eval(frame.symbols, frame.pointers);
      if (extent.value < 0 || extent.overflow)
        return frame.fail({extent.overflow ? Reason::ReturnOverflow : Reason::ReturnExtent, -1, axis,
                           static_cast<int32_t>(&result - plan.returns.data()), extent.value});
      frame.extents()[e] = extent.value;
    }
  }
  return true;
}

// For a pair whose ranges meet: whether it is an overlap that `run` allows, or none after all.
bool allows_meeting(const CallPlan& plan, const PairPlan& pair, Frame& frame) {
  const Strided a = strided(plan.args[pair.written], frame), b = strided(plan.args[pair.other], frame);
  return (pair.allowed == FR_ALIAS_IDENTICAL && identical(a, b)) || !may_share_bytes(a, b) ||
         frame.fail({Reason::Overlap, pair.written, -1, static_cast<int32_t>(&pair - plan.pairs.data())});
}

}  // namespace

bool test_layout(const ArgPlan& arg, Frame& frame, const void* data, const int64_t* shape, const int64_t* byte_strides,
                 bool writable) {
  if (has_no_elements(arg, shape)) return true;
  if (arg.written && !writable) return frame.fail({Reason::ReadOnly, arg.index});
  const auto alignment = static_cast<uintptr_t>(arg.alignment);
  const uintptr_t past = reinterpret_cast<uintptr_t>(data) % alignment;
  if (past != 0) return frame.fail({Reason::Misaligned, arg.index, -1, -1, static_cast<int64_t>(past)});
  for (int32_t axis = 0; axis < arg.rank; ++axis)
    if (shape[axis] > 1 && byte_strides[axis] % arg.item != 0)
      return frame.fail({Reason::StrideMultiple, arg.index, axis, -1, byte_strides[axis]});
  if (arg.layout <= FR_LAYOUT_F) return is_dense(arg, shape, byte_strides) || frame.fail({Reason::Strides, arg.index});
  if (arg.layout == FR_LAYOUT_INNER && shape[arg.inner_axis] > 1 && byte_strides[arg.inner_axis] != arg.item)
    return frame.fail({Reason::Strides, arg.index, arg.inner_axis});
  if (arg.written && may_overlap_itself({static_cast<const char*>(data), arg.item, arg.rank, shape, byte_strides}))
    return frame.fail({Reason::SelfOverlap, arg.index});
  return true;
}

void bind_none(const ArgPlan& arg, Frame& frame) {
  frame.pointers[arg.index] = nullptr;
  frame.arrays[arg.index] = {};
  for (const Step* step = arg.steps; step != arg.steps_end; ++step)
    if (step->kind != Step::Kind::CheckExtent && step->kind != Step::Kind::CheckGuard) frame.symbols[step->symbol] = 0;
  if (arg.symbol >= 0) frame.symbols[arg.symbol] = 0;
}

bool written_array_overlaps(const CallPlan& plan, const Frame& frame) {
  const auto bound = [&](const ArgPlan& arg) { return is_given_array(arg, frame); };
  for (const ArgPlan& written : plan.args) {
    if (!bound(written) || !written.written) continue;
    for (const ArgPlan& other : plan.args) {
      if (other.index == written.index || !bound(other)) continue;
      const Strided a = strided(written, frame), b = strided(other, frame);
      if (ranges_meet(range_of(a), range_of(b)) && may_share_bytes(a, b)) return true;
    }
  }
  return false;
}

bool make_step(const CallPlan& plan, const ArgPlan& arg, const Step& step, Frame& frame) {
  const BoundArray& array = frame.arrays[arg.index];
  const bool solved = step.kind == Step::Kind::Solve;
  const Solve* solve = solved ? &plan.solves[static_cast<size_t>(step.index)] : nullptr;
  int64_t value = array.shape[step.axis];
  if (!solved || solve->stride) value = value > 1 ? array.byte_strides[step.axis] / arg.item : 0;
  if (solved) {
    const Evaluated result = solve->expr.eval(&value, nullptr);
    if (result.overflow) return frame.fail({Reason::Solve, arg.index, step.axis, step.symbol, value});
    if (result.value < 0 && !solve->may_be_negative)
      return frame.fail({Reason::Negative, arg.index, step.axis, step.symbol, result.value});
    value = result.value;
  }
  frame.symbols[step.symbol] = value;
  return true;
}

bool bind_scalar(const CallPlan& plan, const ArgPlan& arg, Frame& frame) {
  void* slot = &frame.scalars()[arg.index];
  frame.pointers[arg.index] = slot;
  frame.arrays[arg.index].shape = nullptr;
  if (arg.symbol < 0) return true;
  const int64_t value = scalar_as_int(slot, arg.dtype);
  const bool may_be_negative = (entry_at(plan.module->symbols, static_cast<uint32_t>(arg.symbol)).flags & 1) != 0;
  if (value < 0 && !may_be_negative) return frame.fail({Reason::Negative, arg.index, -1, arg.symbol, value});
  frame.symbols[arg.symbol] = value;
  return true;
}

Fit finish_meeting_pairs(const CallPlan& plan, const PairPlan* pair, Frame& frame) {
  for (const PairPlan* const end = plan.pairs.data() + plan.pairs.size(); pair != end; ++pair)
    if (ranges_meet(frame.arrays[pair->written].range, frame.arrays[pair->other].range) &&
        !allows_meeting(plan, *pair, frame))
      return plan.module->run_alias != nullptr ? Fit::RunAlias : Fit::Refused;
  return Fit::Run;
}

const OptionalSource::Place* told_by(const OptionalSource& source, const Frame& frame) {
  for (const OptionalSource::Place& place : source.others)
    if (frame.arrays[place.arg].shape != nullptr) return &place;
  return nullptr;
}

bool finish_symbols(const CallPlan& plan, Frame& frame) {
  tell_symbols(plan, frame);
  if (!apply_required_symbols(plan, frame) || !derive_symbols(plan, frame) || !compare_explicit_symbols(plan, frame) ||
      !make_late_checks(plan, frame))
    return false;
  for (const int32_t index : plan.late_guards) {
    const Evaluated holds = plan.guards[static_cast<size_t>(index)].condition.eval(frame.symbols, frame.pointers);
    if (holds.value == 0 || holds.overflow) [[unlikely]]
      return frame.fail({Reason::Guard, -1, -1, index, 0});
  }
  return evaluate_result_extents(plan, frame);
}

}  // namespace ferrule
