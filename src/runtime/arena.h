// Scratch memory of a kernel, leased to one call at a time and kept for the next.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/call_ctx.h"

namespace ferrule {

// The free arenas of one handle. Two calls at the same time get two arenas; every member is thread-safe.
class ArenaPool {
 public:
  struct Arena {
    MemoryPtr memory;
    int64_t bytes = 0;
  };

  // An arena of at least `bytes`; its memory is null when the system has none.
  Arena lease(int64_t bytes);
  // Keeps the arena for a later call; frees it where enough are kept already.
  void give_back(Arena arena);

 private:
  std::mutex mutex_;
  std::vector<Arena> free_;
};

}  // namespace ferrule
