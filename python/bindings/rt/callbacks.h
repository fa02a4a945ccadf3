// Python callables that native code calls: from any thread, with the interpreter's lock.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "call/frame.h"
#include "runtime/call_ctx.h"
#include "target.h"

namespace ferrule::python {

// The callables of one call, whose frame is bound. Made and dropped with the interpreter's lock; the run lies between.
class Callables {
 public:
  Callables(const Target& target, const Frame& frame) : target_(target), frame_(frame) {}
  ~Callables();
  Callables(const Callables&) = delete;
  Callables& operator=(const Callables&) = delete;

  // For FrCallCtx; this object must outlive the run.
  CallbackBridge bridge() { return {&Callables::enter, &Callables::region, this}; }

  // Says that the calling thread keeps the interpreter's lock during the run. Threads of parallel regions get it
  // meanwhile; others that call back wait for ever.
  void keep_lock() { holder_ = std::this_thread::get_id(); }

  // Sets the exception that a callable raised as Python's error again; false where none did.
  bool restore();

 private:
  static int32_t region(void* self, const ParallelRegion& region);
  static int32_t enter(void* self, FrCallCtx* ctx, int32_t arg, int32_t n, void* const* values, void* result);
  static int32_t enter_python(void* self, int32_t arg, int32_t n, void* const* values, void* result);
  int32_t enter_locked(int32_t arg, int32_t n, void* const* values, void* result, int64_t iteration);
  bool call(int32_t arg, int32_t n, void* const* values, void* result);
  bool make_arguments(const CallbackPlan& plan, int32_t arg, void* const* values, PyObject** made);
  PyObject* make_array(const CallbackPlan::Parameter& p, int32_t arg, void* data);
  bool take_result(const CallbackPlan& plan, int32_t arg, PyObject* given, void* result);
  void keep_exception(int64_t iteration);

  const Target& target_;
  const Frame& frame_;
  std::atomic<std::thread::id> holder_;  // of the lock, outside of parallel regions; nobody where the run is without it
  std::vector<PyObject*> results_;       // objects that callables gave, alive until the call ends
  // What was raised: outside of parallel regions first, in them by the lowest iteration.
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
  int64_t iteration_ = -1;
};

}  // namespace ferrule::python
