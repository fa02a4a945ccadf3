// A block of `count` values that lies on the stack unless it is long.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace ferrule::python {

// Contents are undefined until written.
template <class T, size_t kInline>
class SmallBuffer {
  static_assert(std::is_trivial_v<T>);

 public:
  explicit SmallBuffer(size_t count) : data_(inline_) {
    if (count > kInline) [[unlikely]] {
      heap_.reset(new T[count]);
      data_ = heap_.get();
    }
  }
  SmallBuffer(const SmallBuffer&) = delete;
  SmallBuffer& operator=(const SmallBuffer&) = delete;
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_;
  T inline_[kInline];
  std::unique_ptr<T[]> heap_;
};

}  // namespace ferrule::python
