#include "array/recycler.h"

#include <sys/mman.h>

#include <cstdlib>

namespace ferrule {
namespace {

constexpr size_t kSmallPage = 4096, kLargePage = size_t{1} << 21;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Large blocks begin at a large page and ask for such pages, which a single pass over them takes a fraction of the
// time.
void* new_block(size_t bytes) {
  const bool large = bytes >= 2 * kLargePage;
  void* memory = std::aligned_alloc(large ? kLargePage : kSmallPage, rounded(bytes, large ? kLargePage : kSmallPage));
#ifdef MADV_HUGEPAGE
  if (large && memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // advice: without it the pages are small
#endif
  return memory;
}

}  // namespace

void* Recycler::take(size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (block->bytes < bytes || block->bytes - bytes > bytes / 8) continue;
      void* memory = block->memory;
      in_use_.emplace(memory, block->bytes);
      kept_ -= block->bytes;
      blocks_.erase(block);
      return memory;
    }
  }
  if (bytes > SIZE_MAX / 2) return nullptr;
  void* memory = new_block(bytes);
  const std::lock_guard lock(mutex_);
  if (memory == nullptr) {
    drop_beyond(0);  // what is kept may be what is missing
    memory = new_block(bytes);
  }
  if (memory == nullptr) return nullptr;
  in_use_.emplace(memory, bytes);
  return memory;
}

bool Recycler::give_back(void* block) {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(block);
  if (found == in_use_.end()) return false;
  blocks_.push_front({block, found->second});
  kept_ += found->second;
  in_use_.erase(found);
  drop_beyond(most_);
  return true;
}

void Recycler::limit(size_t most) {
  const std::lock_guard lock(mutex_);
  most_ = most;
  drop_beyond(most);
}

size_t Recycler::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

size_t Recycler::bytes_of(void* block) const {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(block);
  return found == in_use_.end() ? 0 : found->second;
}

void Recycler::drop_beyond(size_t most) {
  while (kept_ > most) {
    kept_ -= blocks_.back().bytes;
    std::free(blocks_.back().memory);
    blocks_.pop_back();
  }
}

}  // namespace ferrule
