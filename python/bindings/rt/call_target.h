// One call of a target from Python: bind, run, build the results. The path of a call that fits is inline, so that each
// of the two types has it in one piece; everything else is in call_target.cpp.
#pragma once

#include "bind_args.h"
#include "problem.h"
#include "runtime/call_ctx.h"

namespace ferrule::python {

// What a miss is reported with; `problem.object` is borrowed from the call.
struct Attempt {
  explicit Attempt(const CallPlan& plan) : frame(plan) {}
  Frame frame;
  Problem problem;
};

// How a call ended; `result` is a new reference, null unless it is Done. After a miss nothing has changed.
struct Called {
  PyObject* result;
  Outcome outcome;
};

// Binds arguments from `first` on as long as they fit at first sight; the one that does not, or their end. A function
// of its own: what it needs stays in registers.
const ArgTarget* bind_straight_from(const Target& target, size_t first, PyObject* const* given, Frame& frame);

// Arguments that need more than the first sight: scalars, fixed values, uncommon arrays, and all that are refused.
Outcome bind_other(const Target& target, size_t index, PyObject* object, Frame& frame, Problem& problem);

int32_t run_without_gil(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx);

[[gnu::cold]] void raise_failure(const Target& target, int32_t status, const FrCallCtx& ctx);

Called run_for_results(const Target& target, Fit fit, PyObject* const* given, Frame& frame);

// Keywords in another order, symbols by name, defaults, hidden arrays.
template <bool kRuns>
Called call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     Attempt& attempt);

inline bool releases_gil(const Target& target, const Frame& frame) {
  if (target.release_gil != ReleaseGil::Auto) [[unlikely]]
    return target.release_gil == ReleaseGil::Always;
  return target.handle->is_long(frame);
}

[[gnu::always_inline]] inline Outcome bind_all(const Target& target, PyObject* const* given, Frame& frame,
                                               Problem& problem) {
  const ArgTarget* own = bind_straight_from(target, 0, given, frame);
  while (own != target.args.data() + target.args.size()) [[unlikely]] {
    const auto i = static_cast<size_t>(own - target.args.data());
    const Outcome bound = bind_other(target, i, given[i], frame, problem);
    if (bound != Outcome::Done) return bound;
    own = bind_straight_from(target, i + 1, given, frame);
  }
  return Outcome::Done;
}

// The run itself, with or without the interpreter's lock. False with a Python error set.
[[gnu::always_inline]] inline bool run(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  const int32_t status =
      releases_gil(target, frame) ? run_without_gil(target, fit, frame, ctx) : target.handle->run(frame, fit, ctx);
  if (status == FR_OK) [[likely]]
    return true;
  raise_failure(target, status, ctx);
  return false;
}

// Arguments in declared order, to how the call may run.
[[gnu::always_inline]] inline Outcome bind(const Target& target, PyObject* const* given, Attempt& attempt, Fit& fit) {
  const Outcome bound = bind_all(target, given, attempt.frame, attempt.problem);
  if (bound != Outcome::Done) [[unlikely]]
    return bound;
  fit = finish_binding(target.plan(), attempt.frame);
  if (fit == Fit::Refused) [[unlikely]]
    return Outcome::Miss;
  if (target.overlap_only && !written_array_overlaps(target.plan(), attempt.frame)) [[unlikely]] {
    attempt.frame.mismatch = {Reason::NoOverlap, -1, -1, -1, 0};
    return Outcome::Miss;
  }
  return Outcome::Done;
}

// `kRuns`: false to stop after the checks.
template <bool kRuns>
[[gnu::always_inline]] inline Called bind_and_run(const Target& target, PyObject* const* given, Attempt& attempt) {
  Fit fit;
  const Outcome bound = bind(target, given, attempt, fit);
  if (!kRuns || bound != Outcome::Done) [[unlikely]]
    return {nullptr, bound};
  if (!target.plan().returns_none) return run_for_results(target, fit, given, attempt.frame);
  FrCallCtx ctx(target.plan().module);
  if (!run(target, fit, attempt.frame, ctx)) [[unlikely]]
    return {nullptr, Outcome::Raised};
  return {Py_NewRef(Py_None), Outcome::Done};
}

// Calls `target` with the arguments of a vectorcall, which the caller keeps alive meanwhile. C++ exceptions pass.
template <bool kRuns>
[[gnu::always_inline]] inline Called attempt_call(const Target& target, PyObject* const* args, Py_ssize_t nargs,
                                                  PyObject* kwnames, Attempt& attempt) {
  const Outcome unchanged = check_globals(target, attempt.problem);
  if (unchanged != Outcome::Done) [[unlikely]]
    return {nullptr, unchanged};
  if (in_declared_order(target, nargs, kwnames)) [[likely]]
    return bind_and_run<kRuns>(target, args, attempt);
  return call_gathered<kRuns>(target, args, nargs, kwnames, attempt);
}

// The same where a miss is an error: a new reference, or null with a Python error set.
PyObject* call_or_raise(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// Whether a call with these arguments would be accepted; nothing is run.
Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

}  // namespace ferrule::python
