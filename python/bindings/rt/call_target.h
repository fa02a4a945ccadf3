// One call of a target from Python: bind, run, build the results. The path of a call that fits is inline, so that each
// of the two types has it in one piece; everything else is in call_target.cpp.
#pragma once

#include "bind_args.h"
#include "problem.h"
#include "runtime/call_ctx.h"

namespace ferrule::python {

// How a call ended; `result` is a new reference, null unless it is Done. After a miss nothing has changed.
struct Called {
  PyObject* result;
  Outcome outcome;
};

// Binds arguments from `first` on as long as they fit at first sight; the one that does not, or their end. A function
// of its own: what it needs stays in registers.
const ArgTarget* bind_straight_from(const Target& target, size_t first, PyObject* const* given, Frame& frame);

// Arguments that need more than the first sight: scalars, fixed values, uncommon arrays, and all that are refused.
Outcome bind_other(const Target& target, size_t index, PyObject* object, Attempt& attempt);

int32_t run_without_gil(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx);

[[gnu::cold]] void raise_failure(const Target& target, int32_t status, const FrCallCtx& ctx);

Called run_for_results(const Target& target, Fit fit, PyObject* const* given, Attempt& attempt);

// The same where the plan is `involved`: callbacks, results that own objects, memory that the caller gave.
Called run_involved(const Target& target, Fit fit, PyObject* const* given, Attempt& attempt);

// The results of a call with arrays of another library, as arrays of that library.
[[gnu::cold]] Called as_given(const Target& target, const Called& called, PyObject* const* given);

// _hand_over(ndarray, like) of ferrule._rt.
PyObject* hand_over_like(PyObject* self, PyObject* const* args, Py_ssize_t nargs);

// Keywords in another order, symbols by name, defaults, hidden arrays.
template <bool kRuns>
Called call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     Attempt& attempt);

inline bool releases_gil(const Target& target, const Frame& frame) {
  if (target.release_gil != ReleaseGil::Auto) [[unlikely]]
    return target.release_gil == ReleaseGil::Always;
  return target.handle->is_long(frame);
}

// The run itself, with or without the interpreter's lock. False with a Python error set.
[[gnu::always_inline]] inline bool run(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  if (target.plan().takes_errors && !target.error_check) [[unlikely]]
    ctx.get_extras().leaves_errors = true;
  const int32_t status =
      releases_gil(target, frame) ? run_without_gil(target, fit, frame, ctx) : target.handle->run(frame, fit, ctx);
  if (status == FR_OK) [[likely]]
    return true;
  if (!target.error_check && is_own_status(status)) return true;
  raise_failure(target, status, ctx);
  return false;
}

// What follows the binding of each argument, to how the call may run.
[[gnu::always_inline]] inline Outcome finish(const Target& target, Attempt& attempt, Fit& fit) {
  fit = finish_binding(target.plan(), attempt.frame);
  if (fit == Fit::Refused) [[unlikely]]
    return Outcome::Miss;
  if (target.overlap_only && !written_array_overlaps(target.plan(), attempt.frame)) [[unlikely]] {
    attempt.frame.mismatch = {Reason::NoOverlap, -1, -1, -1, 0};
    return Outcome::Miss;
  }
  return Outcome::Done;
}

// Runs a call whose arguments are bound. `kRuns`: false to stop after the checks.
template <bool kRuns>
[[gnu::always_inline]] inline Called finish_and_run(const Target& target, PyObject* const* given, Attempt& attempt) {
  Fit fit;
  const Outcome bound = finish(target, attempt, fit);
  if (!kRuns || bound != Outcome::Done) [[unlikely]]
    return {nullptr, bound};
  if (!target.plan().returns_none) {
    const Called called = run_for_results(target, fit, given, attempt);
    return attempt.problem.borrows && attempt.borrowed().foreign ? as_given(target, called, given) : called;
  }
  FrCallCtx ctx(target.plan().module);
  if (!run(target, fit, attempt.frame, ctx)) [[unlikely]]
    return {nullptr, Outcome::Raised};
  return {Py_NewRef(Py_None), Outcome::Done};
}

// Binds the arguments from `own` on, which did not fit at first sight, and runs. What the call borrowed is given back
// unless it is a miss, whose sentence needs it.
template <bool kRuns>
Called bind_others_and_run(const Target& target, const ArgTarget* own, PyObject* const* given, Attempt& attempt);

template <bool kRuns>
[[gnu::always_inline]] inline Called bind_and_run(const Target& target, PyObject* const* given, Attempt& attempt) {
  const ArgTarget* own = bind_straight_from(target, 0, given, attempt.frame);
  if (own != target.args.data() + target.args.size()) [[unlikely]]
    return bind_others_and_run<kRuns>(target, own, given, attempt);
  return finish_and_run<kRuns>(target, given, attempt);
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
