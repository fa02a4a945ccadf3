// Runs whose results or callbacks need more than memory of known dtypes.
#include <algorithm>
#include <cstring>

#include "call_target.h"
#include "callbacks.h"
#include "results.h"
#include "return_override.h"
#include "small_buffer.h"

namespace ferrule::python {
namespace {

bool is_array_of_objects(const ReturnPlan& r) { return r.kind == FR_RETURN_ARRAY && r.dtype == DType::Object; }

// The results that exist before the run.
class Made {
 public:
  explicit Made(const Target& target) : target_(target), objects_(target.plan().returns.size()) {
    std::fill_n(objects_.data(), target.plan().returns.size(), nullptr);
  }
  ~Made() {
    // Native code may have left handles that are not owned.
    for (size_t i = 0; i < target_.plan().returns.size(); ++i)
      if (objects_[i] != nullptr && is_array_of_objects(target_.plan().returns[i]) && !owned_) {
        auto* array = reinterpret_cast<PyArrayObject*>(objects_[i]);
        std::memset(PyArray_DATA(array), 0, static_cast<size_t>(PyArray_NBYTES(array)));
      }
    release_results(target_, objects_.data());
  }
  Made(const Made&) = delete;

  bool allocate(Attempt& attempt) {
    for (size_t i = 0; i < target_.plan().returns.size(); ++i)
      if (!allocate_one(i, attempt)) return false;
    return true;
  }

  // After a run that succeeded: the handles in arrays of objects become references.
  void own_objects() {
    owned_ = true;
    for (size_t i = 0; i < target_.plan().returns.size(); ++i) {
      if (!is_array_of_objects(target_.plan().returns[i])) continue;
      auto* array = reinterpret_cast<PyArrayObject*>(objects_[i]);
      auto** handles = static_cast<PyObject**>(PyArray_DATA(array));
      for (npy_intp k = 0; k < PyArray_SIZE(array); ++k) {
        if (handles[k] == nullptr) handles[k] = Py_None;
        Py_INCREF(handles[k]);
      }
    }
  }

  PyObject** data() { return objects_.data(); }

 private:
  bool allocate_one(size_t i, Attempt& attempt) {
    const ReturnPlan& r = target_.plan().returns[i];
    Frame& frame = attempt.frame;
    void*& pointer = frame.pointers[target_.plan().args.size() + i];
    pointer = nullptr;
    const bool record = r.kind == FR_RETURN_SCALAR && r.dtype == DType::Record;
    if (r.kind == FR_RETURN_ARRAY || record) {
      if (PyObject* given = override_of(attempt, i)) {
        if (!check_override(target_, i, attempt)) return false;
        objects_[i] = Py_NewRef(given);
      } else {
        objects_[i] =
            new_array(target_, target_.return_descrs[i], record ? 0 : r.rank, frame.extents() + r.first_extent);
      }
      if (objects_[i] == nullptr) return false;
      auto* array = reinterpret_cast<PyArrayObject*>(objects_[i]);
      pointer = PyArray_DATA(array);
      if (record || r.dtype == DType::Object) std::memset(pointer, 0, static_cast<size_t>(PyArray_NBYTES(array)));
    } else if (r.kind == FR_RETURN_SCALAR) {
      ScalarSlot* slot = &frame.scalars()[target_.plan().args.size() + i];
      std::memset(slot, 0, sizeof *slot);
      pointer = slot;
    }
    return true;
  }

  const Target& target_;
  SmallBuffer<PyObject*, 8> objects_;
  bool owned_ = false;
};

// With callbacks the lock is free even in a short run, for native threads may call back, unless the caller knows
// better.
bool run_with_callables(const Target& target, Fit fit, Frame& frame, FrCallCtx& ctx, Callables& callables) {
  if (target.plan().callbacks.empty()) return run(target, fit, frame, ctx);
  ctx.get_extras().bridge = callables.bridge();
  const bool keeps_lock = target.release_gil == ReleaseGil::Never;
  if (keeps_lock) callables.keep_lock();
  const int32_t status = keeps_lock ? target.handle->run(frame, fit, ctx) : run_without_gil(target, fit, frame, ctx);
  if (callables.restore()) return false;
  if (status != FR_OK) raise_failure(target, status, ctx);
  return status == FR_OK;
}

}  // namespace

Called run_involved(const Target& target, Fit fit, PyObject* const* given, Attempt& attempt) {
  Made made(target);
  if (!made.allocate(attempt)) return {nullptr, Outcome::Raised};
  FrCallCtx ctx(target.plan().module);
  Callables callables(target, attempt.frame);
  if (!run_with_callables(target, fit, attempt.frame, ctx, callables)) return {nullptr, Outcome::Raised};
  made.own_objects();
  if (target.plan().returns.empty()) return {Py_NewRef(Py_None), Outcome::Done};
  PyObject* result = build_results(target, attempt.frame, ctx, given, made.data());
  return {result, result != nullptr ? Outcome::Done : Outcome::Raised};
}

}  // namespace ferrule::python
