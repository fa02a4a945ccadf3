#include "call_target.h"

#include "../common/errors.h"
#include "bind_args.h"
#include "results.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

Outcome bind_static(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame, Problem& problem) {
  PyObject* fixed = target.args[static_cast<size_t>(arg.index)].fixed;
  const int same = fixed == nullptr ? 0 : same_value(object, fixed);
  if (same < 0) return Outcome::Raised;
  if (same == 0) return miss(problem, Wrong::StaticValue, arg.index, object);
  bind_none(arg, frame);
  return Outcome::Done;
}

}  // namespace

void raise_failure(const Target& target, int32_t status, const FrCallCtx& ctx) {
  raise_from(target.handle->failure(status, ctx.error));
}

Outcome bind_other(const Target& target, size_t index, PyObject* object, Frame& frame, Problem& problem) {
  const ArgPlan& arg = target.plan().args[index];
  if (arg.kind == FR_ARG_SCALAR) return bind_scalar_object(target, arg, object, frame, problem);
  if (arg.kind == FR_ARG_ARRAY) return bind_array_object(target, arg, object, frame, problem);
  return bind_static(target, arg, object, frame, problem);
}

const ArgTarget* bind_straight_from(const Target& target, size_t first, PyObject* const* given, Frame& frame) {
  const ArgTarget* own = target.args.data() + first;
  const ArgTarget* const end = target.args.data() + target.args.size();
  PyTypeObject* const array_type = target.array_type;
  int64_t* const symbols = frame.symbols;
  void** pointer = frame.pointers + first;
  BoundArray* bound = frame.arrays + first;
  for (given += first; own != end; ++own, ++given, ++pointer, ++bound)
    if (!bind_straight(*own, array_type, *given, symbols, *pointer, *bound)) break;
  return own;
}

int32_t run_without_gil(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx) {
  PyThreadState* state = PyEval_SaveThread();
  const int32_t status = target.handle->run(frame, fit, ctx);
  PyEval_RestoreThread(state);
  return status;
}

Called run_for_results(const Target& target, Fit fit, PyObject* const* given, Frame& frame) {
  SmallBuffer<PyObject*, 8> made(target.plan().returns.size());
  if (!allocate_results(target, frame, made.data())) return {nullptr, Outcome::Raised};
  FrCallCtx ctx(target.plan().module);
  PyObject* result = nullptr;
  if (run(target, fit, frame, ctx))
    result = build_results(target, frame, ctx, given, made.data());
  else
    release_results(target, made.data());
  if (target.finish != nullptr && result != nullptr) [[unlikely]] {
    PyObject* plain = result;
    result = PyObject_CallOneArg(target.finish, plain);
    Py_DECREF(plain);
  }
  return {result, result != nullptr ? Outcome::Done : Outcome::Raised};
}

template <bool kRuns>
Called call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     Attempt& attempt) {
  SmallBuffer<PyObject*, 32> given(target.args.size());
  Outcome outcome = gather(target, args, nargs, kwnames, given.data(), attempt.frame, attempt.problem);
  if (outcome != Outcome::Done) return {nullptr, outcome};
  if (!target.has_hidden) return bind_and_run<kRuns>(target, given.data(), attempt);
  Called called{nullptr, fetch_hidden(target, given.data(), attempt.problem)};
  if (called.outcome == Outcome::Done) called = bind_and_run<kRuns>(target, given.data(), attempt);
  for (const HiddenArray& hidden : target.hidden) Py_XDECREF(given[static_cast<size_t>(hidden.arg)]);
  return called;
}

template Called call_gathered<true>(const Target&, PyObject* const*, Py_ssize_t, PyObject*, Attempt&);
template Called call_gathered<false>(const Target&, PyObject* const*, Py_ssize_t, PyObject*, Attempt&);

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

Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  Attempt attempt(target.plan());
  return attempt_call<false>(target, args, nargs, kwnames, attempt).outcome;
} catch (...) {
  raise_current_exception();
  return Outcome::Raised;
}

}  // namespace ferrule::python
