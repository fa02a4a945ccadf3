#include "call_target.h"

#include "../common/errors.h"
#include "bind_args.h"
#include "results.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

// What a miss is reported with; `problem.object` is borrowed from the call.
struct Attempt {
  explicit Attempt(const CallPlan& plan) : frame(plan) {}
  Frame frame;
  Problem problem;
};

bool releases_gil(const Target& target, const Frame& frame) {
  if (target.release_gil != ReleaseGil::Auto) [[unlikely]]
    return target.release_gil == ReleaseGil::Always;
  return target.handle->is_long(frame);
}

[[gnu::cold]] void raise_failure(const Target& target, int32_t status, const FrCallCtx& ctx) {
  raise_from(target.handle->failure(status, ctx.error));
}

Outcome bind_static(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem) {
  PyObject* fixed = target.args[static_cast<size_t>(arg.index)].fixed;
  const int same = fixed == nullptr ? 0 : same_value(object, fixed);
  if (same < 0) return Outcome::Raised;
  if (same == 0) return miss(problem, Wrong::StaticValue, arg.index, object);
  bind_none(arg, frame);
  return Outcome::Done;
}

// Arguments that need more than the first sight: scalars, fixed values, uncommon arrays, and all that are refused.
[[gnu::noinline]] Outcome bind_other(const Target& target, size_t index, PyObject* object, Frame& frame,
                                     Problem& problem) {
  const ArgPlan& arg = target.plan().args[index];
  if (arg.kind == FR_ARG_SCALAR) return bind_scalar_object(target, arg, object, frame, problem);
  if (arg.kind == FR_ARG_ARRAY) return bind_array_object(target, arg, object, frame, problem);
  return bind_static(target, arg, object, frame, problem);
}

// Binds arguments from `i` on as long as they fit at first sight; the first that does not, or their number. A function
// of its own, as is the run: what each needs stays in registers.
[[gnu::noinline]] size_t bind_straight_from(const Target& target, size_t i, PyObject* const* given, Frame& frame) {
  const ArgTarget* const args = target.args.data();
  const size_t n = target.args.size();
  PyTypeObject* const array_type = target.array_type;
  int64_t* const symbols = frame.symbols;
  void** const pointers = frame.pointers;
  BoundArray* const arrays = frame.arrays;
  while (i < n && bind_straight(args[i], array_type, given[i], symbols, pointers[i], arrays[i])) ++i;
  return i;
}

[[gnu::always_inline]] inline Outcome bind_all(const Target& target, PyObject* const* given, Frame& frame,
                                               Problem& problem) {
  const size_t n = target.args.size();
  size_t i = bind_straight_from(target, 0, given, frame);
  while (i < n) [[unlikely]] {
    const Outcome bound = bind_other(target, i, given[i], frame, problem);
    if (bound != Outcome::Done) return bound;
    i = bind_straight_from(target, i + 1, given, frame);
  }
  return Outcome::Done;
}

[[gnu::noinline]] int32_t run_without_gil(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  PyThreadState* state = PyEval_SaveThread();
  const int32_t status = target.handle->run(frame, fit, ctx);
  PyEval_RestoreThread(state);
  return status;
}

// The run itself, with or without the interpreter's lock. False with a Python error set.
inline bool run(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  const int32_t status = releases_gil(target, frame) ? run_without_gil(target, fit, frame, ctx)
                                                     : target.handle->run(frame, fit, ctx);
  if (status == FR_OK) [[likely]]
    return true;
  raise_failure(target, status, ctx);
  return false;
}

[[gnu::noinline]] Called run_for_results(const Target& target, Fit fit, PyObject* const* given, Frame& frame) {
  SmallBuffer<PyObject*, 8> made(target.plan().returns.size());
  if (!allocate_results(target, frame, made.data())) return {nullptr, Outcome::Raised};
  FrCallCtx ctx(target.plan().module);
  PyObject* result = nullptr;
  if (run(target, fit, frame, ctx))
    result = build_results(target, frame, ctx, given, made.data());
  else
    release_results(target, made.data());
  return {result, result != nullptr ? Outcome::Done : Outcome::Raised};
}

[[gnu::noinline]] Called run_for_none(const Target& target, Fit fit, Frame& frame) {
  FrCallCtx ctx(target.plan().module);
  if (!run(target, fit, frame, ctx)) return {nullptr, Outcome::Raised};
  return {Py_NewRef(Py_None), Outcome::Done};
}

// Arguments in declared order, to how the call may run.
[[gnu::always_inline]] inline Outcome bind(const Target& target, PyObject* const* given, Attempt& attempt, Fit& fit) {
  const Outcome bound = bind_all(target, given, attempt.frame, attempt.problem);
  if (bound != Outcome::Done) [[unlikely]]
    return bound;
  fit = finish_binding(target.plan(), attempt.frame);
  if (fit == Fit::Refused) [[unlikely]]
    return Outcome::Miss;
  if (target.overlap_only && !written_array_overlaps(target.plan(), attempt.frame)) [[unlikely]]
    return Outcome::Miss;
  return Outcome::Done;
}

// `kRuns`: false to stop after the checks.
template <bool kRuns>
[[gnu::always_inline]] inline Called bind_and_run(const Target& target, PyObject* const* given, Attempt& attempt) {
  Fit fit;
  const Outcome bound = bind(target, given, attempt, fit);
  if (!kRuns || bound != Outcome::Done) [[unlikely]]
    return {nullptr, bound};
  if (!target.plan().returns.empty()) return run_for_results(target, fit, given, attempt.frame);
  return run_for_none(target, fit, attempt.frame);
}

// Keywords in another order, symbols by name, defaults, hidden arrays.
template <bool kRuns>
[[gnu::noinline]] Called call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs,
                                       PyObject* kwnames, Attempt& attempt) {
  SmallBuffer<PyObject*, 32> given(target.args.size());
  Outcome outcome = gather(target, args, nargs, kwnames, given.data(), attempt.frame, attempt.problem);
  if (outcome != Outcome::Done) return {nullptr, outcome};
  if (!target.has_hidden) return bind_and_run<kRuns>(target, given.data(), attempt);
  Called called{nullptr, fetch_hidden(target, given.data(), attempt.problem)};
  if (called.outcome == Outcome::Done) called = bind_and_run<kRuns>(target, given.data(), attempt);
  for (const HiddenArray& hidden : target.hidden) Py_XDECREF(given[static_cast<size_t>(hidden.arg)]);
  return called;
}

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

}  // namespace

PyObject* call_or_raise(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  Attempt attempt(target.plan());
  const Called called = attempt_call<true>(target, args, nargs, kwnames, attempt);
  if (called.outcome == Outcome::Miss) [[unlikely]]
    raise_miss(target, attempt.frame, attempt.problem);
  return called.result;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

Called call_or_tell(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  Attempt attempt(target.plan());
  return attempt_call<true>(target, args, nargs, kwnames, attempt);
} catch (...) {
  raise_current_exception();
  return {nullptr, Outcome::Raised};
}

Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  Attempt attempt(target.plan());
  return attempt_call<false>(target, args, nargs, kwnames, attempt).outcome;
} catch (...) {
  raise_current_exception();
  return Outcome::Raised;
}

}  // namespace ferrule::python
