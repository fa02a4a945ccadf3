// What belongs to one running call and is known to no other: the error slot, the results that the module makes itself,
// and its scratch. FrCallCtx is opaque to modules; the host functions of host.cpp are the only way in.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "array/memory.h"
#include "ferrule/abi.h"

namespace ferrule {

// An error as the module recorded it; `code` is an FrErrorCode, 0 while there is none.
struct RecordedError {
  int32_t code = 0;
  int32_t site = -1;
  int64_t values[4] = {};
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

struct FrCallCtx {
  const FrModule* module = nullptr;
  int32_t num_threads = 0;
  // Guards what bodies of a parallel region may touch together: the error slot, made returns and scratch.
  std::mutex mutex;
  ferrule::RecordedError error;
  int64_t error_iteration = 0;  // first iteration of the chunk that recorded it; -1 outside of parallel regions
  std::vector<ferrule::MadeReturn> returns;
  std::vector<ferrule::MemoryPtr> scratch;
};
