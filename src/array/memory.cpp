#include "array/memory.h"

#include <cstdlib>

namespace ferrule {

void FreeMemory::operator()(void* p) const { std::free(p); }

MemoryPtr allocate_memory(int64_t bytes) {
  constexpr int64_t kAlignment = 64, kMost = INT64_MAX / 2;
  if (bytes < 0 || bytes > kMost) return nullptr;
  const int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return MemoryPtr(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded == 0 ? kAlignment : rounded)));
}

}  // namespace ferrule
