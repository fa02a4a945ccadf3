// Memory of large results. Fresh pages cost more than the pass that fills them (some 70 us a MB), so that what a result
// leaves behind when its last reference dies is kept for the next result of about its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>

namespace ferrule {

class Recycler {
 public:
  // Results below are as cheap from the system's allocator, which keeps their pages itself.
  static constexpr size_t kLeast = size_t{1} << 17;

  // `most`: bytes that are kept for later, those in use not counted.
  explicit Recycler(size_t most) : most_(most) {}
  Recycler(const Recycler&) = delete;

  // Memory of at least `bytes`, 64-byte aligned, contents undefined: a kept block that is at most an eighth larger, or
  // new. Null when the system has none.
  void* take(size_t bytes);
  // Takes a block back; false, and nothing done, for memory that take() did not give.
  bool give_back(void* block);
  // Frees what is kept beyond `most` bytes, now and from now on.
  void limit(size_t most);

  size_t kept_bytes() const;
  // Of a block that take() gave and that is in use; 0 for other memory.
  size_t bytes_of(void* block) const;

 private:
  struct Block {
    void* memory;
    size_t bytes;
  };

  void drop_beyond(size_t most);  // the mutex is held

  mutable std::mutex mutex_;
  size_t most_;
  size_t kept_ = 0;
  std::list<Block> blocks_;                   // kept ones, the last given back first
  std::unordered_map<void*, size_t> in_use_;  // bytes of each block
};

}  // namespace ferrule
