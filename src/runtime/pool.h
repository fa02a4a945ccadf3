// The threads behind FrHost::parallel_for: a plain pool that survives fork.
#pragma once

#include <cstdint>

#include "ferrule/abi.h"

namespace ferrule {

// Runs body(closure, lo, hi, worker) over [0, n) in chunks of `grain` iterations, handed out by a counter to the caller
// (worker 0) and to at most threads - 1 pool threads (workers 1, 2, ...). Returns FR_OK, or the status of the lowest
// chunk that failed: chunks are handed out in order and those handed out are finished, so which one that is does not
// depend on timing. A region inside a region, or beside another thread's region, runs in its caller alone.
// `threads` 0 means default_num_threads() as it was when the pool was made.
int32_t parallel_for(int64_t n, int64_t grain, int threads, FrBody body, void* closure);

// The first iteration of the chunk that the current thread runs, counted in the outermost region; -1 outside of
// regions.
int64_t current_iteration();

}  // namespace ferrule
