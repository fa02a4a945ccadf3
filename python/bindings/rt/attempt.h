// The state of one attempt to call, on the caller's stack: the frame that is filled, what was wrong, and what the call
// holds of arguments that are not ndarrays.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "array/array.h"
#include "call/frame.h"
#include "problem.h"

namespace ferrule::python {

// What a call borrows; given back when it is over.
class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed();

  // The array of argument `arg` that was taken before; null where none was.
  const ArrayRef* find(int32_t arg) const {
    for (size_t i = n_buffers_; i-- > 0;)
      if (buffers_[i].arg == arg) return &buffers_[i].array;
    for (size_t i = loans_.size(); i-- > 0;)
      if (loans_[i].arg == arg) return &loans_[i].ref;
    return nullptr;
  }
  const ArrayRef& add(int32_t arg, Array array) {
    const ArrayRef ref = array.ref();  // stays right: a moved array keeps its extents where they are
    loans_.push_back({arg, std::move(array), ref});
    return loans_.back().ref;
  }

  // A place for a buffer; null where there is no more. It is held, and given back, once hold_buffer() tells its array.
  Py_buffer* next_buffer() { return n_buffers_ < kBuffers ? &buffers_[n_buffers_].buffer : nullptr; }
  void hold_buffer(int32_t arg, const ArrayRef& array) {
    buffers_[n_buffers_].arg = arg;
    buffers_[n_buffers_].array = array;
    ++n_buffers_;
  }

  // Whatever else must live as long as the call.
  void keep(std::shared_ptr<void> kept) { kept_.push_back(std::move(kept)); }

  bool holds_memory() const { return n_buffers_ != 0 || !loans_.empty() || !kept_.empty(); }

  // Room for `count` strides; null where there is no more.
  int64_t* strides(size_t count) {
    if (count > kStrides - used_) return nullptr;
    used_ += count;
    return strides_ + used_ - count;
  }
  // All strides were for a binding that is made anew.
  void forget_strides() { used_ = 0; }

  // Memory that the caller gave for result `index`; a borrowed reference, null where there is none.
  void set_override(size_t index, PyObject* array) {
    if (n_overrides_ < kOverrides)
      overrides_[n_overrides_++] = {index, array};
    else
      more_overrides_.push_back({index, array});
  }
  PyObject* override_of(size_t index) const {
    for (size_t i = 0; i < n_overrides_; ++i)
      if (overrides_[i].index == index) return overrides_[i].array;
    for (const Override& o : more_overrides_)
      if (o.index == index) return o.array;
    return nullptr;
  }

  bool saw_python = false;  // code of an exporter ran since the binding began
  bool foreign = false;     // an argument is an array of another library

 private:
  struct Loan {
    int32_t arg;
    Array array;
    ArrayRef ref;
  };
  struct BufferLoan {
    int32_t arg;
    ArrayRef array;
    Py_buffer buffer;
  };
  struct Override {
    size_t index;
    PyObject* array;
  };
  static constexpr size_t kStrides = 64, kBuffers = 4, kOverrides = 4;
  std::vector<Loan> loans_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<Override> more_overrides_;
  size_t used_ = 0, n_buffers_ = 0, n_overrides_ = 0;
  Override overrides_[kOverrides];
  int64_t strides_[kStrides];
  BufferLoan buffers_[kBuffers];
};

// Most calls borrow nothing and do not pay for it: `borrowed` is made by the first argument that needs it, and whoever
// ends an attempt gives it back.
class Attempt {
 public:
  explicit Attempt(const CallPlan& plan) : frame(plan) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  Frame frame;
  Problem problem;  // its object is borrowed from the call

  Borrowed& borrowed() {
    if (!problem.borrows) new (storage_) Borrowed;
    problem.borrows = true;
    return *std::launder(reinterpret_cast<Borrowed*>(storage_));
  }

  // Whether an exporter's code ran; asked again, only what ran since.
  bool saw_python() {
    if (!problem.borrows || !borrowed().saw_python) return false;
    borrowed().saw_python = false;
    borrowed().forget_strides();
    return true;
  }

  // Leaves a pending Python error as it is.
  void give_back() {
    if (problem.borrows) end_borrowing();
  }

 private:
  void end_borrowing();

  alignas(Borrowed) unsigned char storage_[sizeof(Borrowed)];
};

}  // namespace ferrule::python
