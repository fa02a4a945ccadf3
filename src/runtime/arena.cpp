#include "runtime/arena.h"

namespace ferrule {

constexpr size_t kMostKept = 16;

ArenaPool::Arena ArenaPool::lease(int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Arena arena = std::move(free_.back());
      free_.pop_back();
      if (arena.bytes >= bytes) return arena;
    }
  }
  // One that was too small is freed before the larger one is made: sizes grow, and peak memory must not double.
  MemoryPtr memory = allocate_memory(bytes);
  return {std::move(memory), bytes};
}

void ArenaPool::give_back(Arena arena) {
  const std::lock_guard lock(mutex_);
  if (free_.size() < kMostKept) free_.push_back(std::move(arena));
}

}  // namespace ferrule
