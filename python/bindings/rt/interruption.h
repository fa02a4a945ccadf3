// Waits for the C++ compiler that a signal or another thread can end.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>

#include "base/error.h"
#include "or_stay.h"

namespace ferrule::python {

// Set by any thread: the compilations that were given it end, their compiler processes killed.
class Stop {
 public:
  void set() { set_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return set_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> set_ = false;
};

// A scope without the GIL, which a daemon thread may reach the end of after Python's.
class Unlocked {
 public:
  ~Unlocked() {
    or_stay([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_ = PyEval_SaveThread();
};

// Calls work(watch) without the GIL, and raises what a signal's handler raised meanwhile, such as KeyboardInterrupt.
template <class Work>
auto interruptible(const Stop* stop, Work work) {
  const std::function<void()> watch = [stop] {
    if (stop != nullptr && stop->is_set()) throw Interrupted();
    const PyGILState_STATE before = or_stay([] { return PyGILState_Ensure(); });
    const int raised = PyErr_CheckSignals();  // does something in the main thread only
    PyGILState_Release(before);
    if (raised != 0) throw Interrupted();
  };
  try {
    const Unlocked unlocked;
    return work(watch);
  } catch (const Interrupted&) {
    if (PyErr_Occurred() != nullptr) throw nanobind::python_error();
    throw user_error("The compilation was stopped before its end.", Builtin::Runtime);
  }
}

}  // namespace ferrule::python
