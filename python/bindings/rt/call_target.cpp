#include "call_target.h"

#include "../common/errors.h"
#include "bind_args.h"
#include "bind_kinds.h"
#include "or_stay.h"
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
  raise_from(target.handle->failure(status, ctx));
}

Outcome bind_other(const Target& target, size_t index, PyObject* object, Attempt& attempt) {
  const ArgPlan& arg = target.plan().args[index];
  if (arg.kind == FR_ARG_SCALAR) return bind_scalar_object(target, arg, object, attempt.frame, attempt.problem);
  if (arg.kind == FR_ARG_ARRAY) return bind_array_object(target, arg, object, attempt);
  if (arg.kind != FR_ARG_STATIC) return bind_kind(target, arg, object, attempt);
  return bind_static(target, arg, object, attempt.frame, attempt.problem);
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
  struct Unlocked {
    PyThreadState* const state = PyEval_SaveThread();
    ~Unlocked() {
      or_stay([&] { PyEval_RestoreThread(state); });
    }
  };
  const Unlocked unlocked;
  return target.handle->run(frame, fit, ctx);
}

Called run_for_results(const Target& target, Fit fit, PyObject* const* given, Attempt& attempt) {
  if (target.plan().involved) [[unlikely]]
    return run_involved(target, fit, given, attempt);
  Frame& frame = attempt.frame;
  SmallBuffer<PyObject*, 8> made(target.plan().returns.size());
  if (!allocate_results(target, frame, made.data())) return {nullptr, Outcome::Raised};
  FrCallCtx ctx(target.plan().module);
  PyObject* result = nullptr;
  try {
    if (run(target, fit, frame, ctx))
      result = build_results(target, frame, ctx, given, made.data());
    else
      release_results(target, made.data());
  } catch (const std::exception&) {  // of a workspace or a persistent size; alone, as in bind_others_and_run
    release_results(target, made.data());
    throw;
  }
  if (target.finish != nullptr && result != nullptr) [[unlikely]] {
    PyObject* plain = result;
    result = PyObject_CallOneArg(target.finish, plain);
    Py_DECREF(plain);
  }
  return {result, result != nullptr ? Outcome::Done : Outcome::Raised};
}

namespace {

Outcome bind_others(const Target& target, const ArgTarget* own, PyObject* const* given, Attempt& attempt) {
  while (own != target.args.data() + target.args.size()) {
    const auto i = static_cast<size_t>(own - target.args.data());
    const Outcome bound = bind_other(target, i, given[i], attempt);
    if (bound != Outcome::Done) return bound;
    own = bind_straight_from(target, i + 1, given, attempt.frame);
  }
  return Outcome::Done;
}

}  // namespace

template <bool kRuns>
Called bind_others_and_run(const Target& target, const ArgTarget* own, PyObject* const* given, Attempt& attempt) try {
  Outcome bound = bind_others(target, own, given, attempt);
  // An exporter's own code may have changed an array that was bound before, so what was read of those is read anew.
  while (bound != Outcome::Raised && attempt.saw_python()) {
    attempt.problem.wrong = Wrong::Nothing;
    own = bind_straight_from(target, 0, given, attempt.frame);
    bound = bind_others(target, own, given, attempt);
  }
  const Called called = bound == Outcome::Done ? finish_and_run<kRuns>(target, given, attempt) : Called{nullptr, bound};
  if (called.outcome != Outcome::Miss) attempt.give_back();
  return called;
} catch (const std::exception&) {  // alone: the end of a thread, at the interpreter's end, passes without its lock
  attempt.give_back();
  throw;
}

template Called bind_others_and_run<true>(const Target&, const ArgTarget*, PyObject* const*, Attempt&);
template Called bind_others_and_run<false>(const Target&, const ArgTarget*, PyObject* const*, Attempt&);

template <bool kRuns>
Called call_gathered(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                     Attempt& attempt) try {
  SmallBuffer<PyObject*, 32> given(target.args.size());
  const Outcome outcome = gather(target, args, nargs, kwnames, given.data(), attempt);
  if (outcome != Outcome::Done || !target.has_hidden) {
    const Called called =
        outcome == Outcome::Done ? bind_and_run<kRuns>(target, given.data(), attempt) : Called{nullptr, outcome};
    if (called.outcome != Outcome::Miss) attempt.give_back();  // memory that the caller gave for results
    return called;
  }
  const auto release = [&] {
    for (const HiddenArray& hidden : target.hidden) Py_XDECREF(given[static_cast<size_t>(hidden.arg)]);
  };
  Called called{nullptr, fetch_hidden(target, given.data(), attempt.problem)};
  try {
    if (called.outcome == Outcome::Done) called = bind_and_run<kRuns>(target, given.data(), attempt);
  } catch (const std::exception&) {
    release();
    throw;
  }
  release();
  return called;
} catch (...) {
  attempt.give_back();
  throw;
}

template Called call_gathered<true>(const Target&, PyObject* const*, Py_ssize_t, PyObject*, Attempt&);
template Called call_gathered<false>(const Target&, PyObject* const*, Py_ssize_t, PyObject*, Attempt&);

PyObject* call_or_raise(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  const InUse in_use(target);
  Attempt attempt(target.plan());
  const Called called = attempt_call<true>(target, args, nargs, kwnames, attempt);
  if (called.outcome == Outcome::Miss) [[unlikely]] {
    raise_miss(target, attempt.frame, attempt.problem);
    attempt.give_back();
  }
  return called.result;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

Outcome would_take(const Target& target, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) try {
  const InUse in_use(target);
  Attempt attempt(target.plan());
  const Outcome outcome = attempt_call<false>(target, args, nargs, kwnames, attempt).outcome;
  attempt.give_back();
  return outcome;
} catch (...) {
  raise_current_exception();
  return Outcome::Raised;
}

}  // namespace ferrule::python
