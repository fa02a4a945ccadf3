#include "call_target.h"

#include "../common/errors.h"
#include "bind_args.h"
#include "results.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

// Runs that are estimated to take longer give other threads the interpreter: about 20 us of work, against 26 ns to
// release and take the lock alone and up to a switch interval when others want it.
constexpr int64_t kReleaseWork = 20'000;

bool releases_gil(const Target& target, const Frame& frame) {
  if (target.release_gil != ReleaseGil::Auto) return target.release_gil == ReleaseGil::Always;
  return target.handle->work(frame) > kReleaseWork;
}

[[gnu::cold]] void raise_failure(const Target& target, int32_t status, const FrCallCtx& ctx) {
  raise_from(target.handle->failure(status, ctx.error));
}

// Arguments that need more than a look at their kind: fixed values.
Outcome bind_static(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem) {
  PyObject* fixed = target.args[static_cast<size_t>(arg.index)].fixed;
  const int same = fixed == nullptr ? 0 : same_value(object, fixed);
  if (same < 0) return Outcome::Raised;
  if (same == 0) return miss(problem, Wrong::StaticValue, arg.index, object);
  bind_none(arg, frame);
  return Outcome::Done;
}

[[gnu::always_inline]] inline Outcome bind_all(const Target& target, PyObject* const* given, Frame& frame,
                                               Problem& problem) {
  const ArgTarget* own = target.args.data();
  for (const ArgPlan& arg : target.plan().args) {
    PyObject* object = *given++;
    Outcome bound;
    if (arg.kind == FR_ARG_ARRAY) [[likely]]
      bound = bind_array_object(target, arg, *own++, object, frame, problem);
    else if (++own; arg.kind == FR_ARG_SCALAR)
      bound = bind_scalar_object(target, arg, object, frame, problem);
    else
      bound = bind_static(target, arg, object, frame, problem);
    if (bound != Outcome::Done) [[unlikely]]
      return bound;
  }
  return Outcome::Done;
}

// The run itself, with or without the interpreter's lock. False with a Python error set.
inline bool run(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  int32_t status;
  if (releases_gil(target, frame)) {
    PyThreadState* state = PyEval_SaveThread();
    status = target.handle->run(frame, fit, ctx);
    PyEval_RestoreThread(state);
  } else {
    status = target.handle->run(frame, fit, ctx);
  }
  if (status == FR_OK) [[likely]]
    return true;
  raise_failure(target, status, ctx);
  return false;
}

[[gnu::noinline]] Outcome run_for_results(const Target& target, Fit fit, PyObject* const* given, Frame& frame,
                                          PyObject** result) {
  SmallBuffer<PyObject*, 8> made(target.plan().returns.size());
  if (!allocate_results(target, frame, made.data())) return Outcome::Raised;
  FrCallCtx ctx(target.plan().module);
  if (run(target, fit, frame, ctx))
    *result = build_results(target, frame, ctx, given, made.data());
  else
    release_results(target, made.data());
  return *result != nullptr ? Outcome::Done : Outcome::Raised;
}

[[gnu::always_inline]] inline Outcome bind_and_run(const Target& target, PyObject* const* given, Attempt& attempt,
                                                   PyObject** result) {
  const Outcome bound = bind_all(target, given, attempt.frame, attempt.problem);
  if (bound != Outcome::Done) [[unlikely]]
    return bound;
  const Fit fit = finish_binding(target.plan(), attempt.frame);
  if (fit == Fit::Refused) [[unlikely]]
    return Outcome::Miss;
  if (target.overlap_only && !written_array_overlaps(target.plan(), attempt.frame)) [[unlikely]]
    return Outcome::Miss;
  if (result == nullptr) [[unlikely]]
    return Outcome::Done;
  if (!target.plan().returns.empty()) return run_for_results(target, fit, given, attempt.frame, result);
  FrCallCtx ctx(target.plan().module);
  if (!run(target, fit, attempt.frame, ctx)) return Outcome::Raised;
  *result = Py_NewRef(Py_None);
  return Outcome::Done;
}

// Keywords, defaults, hidden arrays, guarded variables.
[[gnu::noinline]] Outcome call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs,
                                        PyObject* kwnames, Attempt& attempt, PyObject** result) {
  SmallBuffer<PyObject*, 32> given(target.args.size());
  Outcome outcome = gather(target, args, nargs, kwnames, given.data(), attempt.frame, attempt.problem);
  if (outcome != Outcome::Done) return outcome;
  if (!target.has_variables) return bind_and_run(target, given.data(), attempt, result);
  outcome = check_variables(target, given.data(), attempt.problem);
  if (outcome == Outcome::Done) outcome = bind_and_run(target, given.data(), attempt, result);
  for (const HiddenArray& hidden : target.hidden) Py_XDECREF(given[static_cast<size_t>(hidden.arg)]);
  return outcome;
}

}  // namespace

Outcome call_target(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Attempt& attempt,
                    PyObject** result) try {
  if (target.simple && kwnames == nullptr && nargs == static_cast<Py_ssize_t>(target.args.size())) [[likely]]
    return bind_and_run(target, args, attempt, result);
  return call_gathered(target, args, nargs, kwnames, attempt, result);
} catch (...) {
  raise_current_exception();
  return Outcome::Raised;
}

}  // namespace ferrule::python
