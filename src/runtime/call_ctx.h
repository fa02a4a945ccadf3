// What belongs to one running call and is known to no other: the error slot, the results that the module makes itself,
// and its scratch. FrCallCtx is opaque to modules; the host functions of host.cpp are the only way in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "array/memory.h"
#include "ferrule/abi.h"

namespace ferrule {

// An error as the module recorded it; `code` is an FrErrorCode, 0 while there is none.
struct RecordedError {
  int32_t code = 0;
  int32_t site;  // this and `values` are set with `code`
  int64_t values[4];
};

// A result that the module made during the run: fresh memory (FR_RETURN_DYNAMIC) or a view (FR_RETURN_VIEW).
struct MadeReturn {
  int32_t index = -1;
  std::vector<int64_t> shape;
  MemoryPtr data;                // null for a view
  int32_t arg = -1;              // the viewed argument
  int64_t byte_offset = 0;       // from the pointer that was passed for it
  std::vector<int64_t> strides;  // in elements, of a view
};

}  // namespace ferrule

namespace ferrule {

// The arguments of parallel_for().
struct ParallelRegion {
  int64_t n, grain;
  int threads;
  FrBody body;
  void* closure;
};

// How a module's callbacks reach whoever made the call; as FrHost::callback says, entered by any thread.
struct CallbackBridge {
  int32_t (*enter)(void* self, FrCallCtx* ctx, int32_t arg, int32_t n, void* const* values, void* result);
  // Runs a parallel region, whose threads may enter.
  int32_t (*region)(void* self, const ParallelRegion& region);
  void* self;
};

// What only some calls need; made on first use.
struct CallExtras {
  CallbackBridge bridge{};  // set before the run, if at all
  std::vector<MadeReturn> returns;
  std::vector<MemoryPtr> scratch;
  bool leaves_errors = false;  // what the program records of its own errors stays there; set before the run
  std::string failure;         // what it recorded
};

// Out of line, so that the calls that made none only compare a pointer.
[[gnu::noinline, gnu::cold]] inline void free_extras(CallExtras* extras) { delete extras; }

// Held for a few instructions at a time, by bodies of a parallel region that touch the context together.
class BriefLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

}  // namespace ferrule

// One lies on the stack of each call, so what is initialised here is paid by each.
struct FrCallCtx {
  explicit FrCallCtx(const FrModule* called) : module(called) {}
  FrCallCtx(const FrCallCtx&) = delete;
  [[gnu::always_inline]] ~FrCallCtx() {
    if (extras != nullptr) [[unlikely]]
      ferrule::free_extras(extras);
  }
  // As it was before the run.
  void clear() {
    ferrule::free_extras(std::exchange(extras, nullptr));
    error.code = 0;
  }
  ferrule::CallExtras& get_extras() {
    if (extras == nullptr) extras = new ferrule::CallExtras;
    return *extras;
  }

  const FrModule* module;
  ferrule::CallExtras* extras = nullptr;
  int32_t num_threads = 0;
  ferrule::BriefLock lock;  // guards the error slot and the extras
  ferrule::RecordedError error;
  int64_t error_iteration;  // first iteration of the chunk that recorded the error; -1 outside of parallel regions
};

namespace ferrule {

// The fields one by one: GCC clears an aggregate of this size with an instruction that takes 20 cycles to begin.
[[gnu::always_inline]] inline void fill_call(FrCall& call, void* const* args, const int64_t* symbols, FrCallCtx& ctx,
                                             const FrHost* host) {
  call.size = sizeof(FrCall);
  call.flags = 0;
  call.args = args;
  call.symbols = symbols;
  call.arena = nullptr;
  call.ctx = &ctx;
  call.stream = nullptr;
  call.num_threads = ctx.num_threads;
  call.reserved = 0;
  call.host = host;
  call.workspaces = nullptr;
}

}  // namespace ferrule
