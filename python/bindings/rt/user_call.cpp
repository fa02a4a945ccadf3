// Kernel.user_call: arguments in nested tuples, laid out as the signature's user_args say.
#include <fmt/format.h>

#include <string>

#include "../common/errors.h"
#include "advice.h"
#include "call_target.h"
#include "kernel_methods.h"
#include "kernel_object.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

constexpr int kDeepest = 32;

// Walks the layout and the values side by side.
class Layout {
 public:
  Layout(const FrModule& module, PyObject** given) : module_(module), given_(given) {}

  // One level: the values of a tuple, up to its closing word or the end. False with a Python error set.
  bool take(PyObject* const* values, Py_ssize_t count, int depth) {
    Py_ssize_t k = 0;
    for (; at_ < module_.n_user_args && module_.user_args[at_] != FR_USER_CLOSE; ++k) {
      const int32_t word = module_.user_args[at_++];
      if (k >= count) return wrong_count(depth, count, k + 1 + rest_of_level());
      path_[depth] = k;
      if (word >= 0) {
        given_[word] = values[k];
      } else if (word == FR_USER_OPEN && !enter(values[k], depth)) {
        return false;
      }
    }
    return k == count || wrong_count(depth, count, k);
  }

 private:
  bool enter(PyObject* value, int depth) {
    if (depth + 1 == kDeepest)
      return refuse(Builtin::Value, fmt::format("user_args is nested more than {} levels deep.", kDeepest));
    if (!PyTuple_Check(value))
      return refuse(Builtin::Type,
                    fmt::format("{} is {}, but a tuple is expected.", place(depth), kind_of_object(value)));
    if (!take(reinterpret_cast<PyTupleObject*>(value)->ob_item, PyTuple_GET_SIZE(value), depth + 1)) return false;
    ++at_;  // the closing word
    return true;
  }

  // Values that this level would still take from `at_` on.
  Py_ssize_t rest_of_level() const {
    Py_ssize_t rest = 0;
    int open = 0;
    for (uint32_t i = at_ - 1; i < module_.n_user_args; ++i) {
      const int32_t word = module_.user_args[i];
      if (word == FR_USER_CLOSE) {
        if (open-- == 0) break;
        continue;
      }
      if (open == 0 && i >= at_) ++rest;
      if (word == FR_USER_OPEN) ++open;
    }
    return rest;
  }

  // "arg 2[1][0]": where the walk stands.
  std::string place(int depth) const {
    std::string text = "arg " + std::to_string(path_[0]);
    for (int d = 1; d <= depth; ++d) text += "[" + std::to_string(path_[d]) + "]";
    return text;
  }

  bool wrong_count(int depth, Py_ssize_t got, Py_ssize_t expected) const {
    return refuse(Builtin::Type,
                  fmt::format("{} has {} value{}, but {} {} expected.", depth == 0 ? "user_call" : place(depth - 1),
                              got, got == 1 ? "" : "s", expected, expected == 1 ? "is" : "are"));
  }

  bool refuse(Builtin builtin, const std::string& text) const {
    raise_from(user_error(fmt::format("{}(): {}", module_.name, text), builtin));
    return false;
  }

  const FrModule& module_;
  PyObject** given_;
  uint32_t at_ = 0;
  Py_ssize_t path_[kDeepest];
};

}  // namespace

PyObject* kernel_user_call(PyObject* self, PyObject* const* args, Py_ssize_t nargs) try {
  if (!require_loaded(self)) return nullptr;
  const Target& target = *reinterpret_cast<KernelObject*>(self)->target;
  const InUse in_use(target);
  const FrModule& module = *target.plan().module;
  if (module.n_user_args == 0) {
    raise_from(
        user_error(fmt::format("{}(): the signature has no user_args; call it by position or by name.", module.name),
                   Builtin::Type));
    return nullptr;
  }
  SmallBuffer<PyObject*, 32> given(target.args.size());
  for (size_t i = 0; i < target.args.size(); ++i) given[i] = target.args[i].fallback;
  if (!Layout(module, given.data()).take(args, nargs, 0)) return nullptr;
  Attempt attempt(target.plan());
  const GivenBack ended{attempt};
  const Called called = bind_and_run<true>(target, given.data(), attempt);
  if (called.outcome == Outcome::Miss) raise_miss(target, attempt.frame, attempt.problem);
  return called.result;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
