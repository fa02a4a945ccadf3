// Aligned memory for results, arenas and scratch.
#pragma once

#include <cstdint>
#include <memory>

namespace ferrule {

struct FreeMemory {
  void operator()(void* p) const;
};
using MemoryPtr = std::unique_ptr<void, FreeMemory>;

// `bytes` of memory, 64-byte aligned, contents undefined; null when the system has none or `bytes` is negative. Zero
// bytes give a valid pointer.
MemoryPtr allocate_memory(int64_t bytes);

}  // namespace ferrule
