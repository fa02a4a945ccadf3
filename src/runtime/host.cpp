#include "runtime/host.h"

#include <ctime>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "array/array.h"
#include "base/entries.h"
#include "runtime/call_ctx.h"
#include "runtime/evaluator.h"
#include "runtime/pool.h"

namespace ferrule {
namespace {

void set_error(FrCallCtx* ctx, int32_t code, int32_t site, const int64_t values[4]) {
  const int64_t iteration = current_iteration();
  const std::lock_guard lock(ctx->lock);
  if (ctx->error.code != 0 && (iteration < 0 || iteration >= ctx->error_iteration)) return;
  ctx->error_iteration = iteration;
  ctx->error = {code, site, {values[0], values[1], values[2], values[3]}};
}

void out_of_memory(FrCallCtx* ctx, int64_t bytes) {
  const int64_t values[4] = {bytes, 0, 0, 0};
  set_error(ctx, FR_ERR_MEMORY, -1, values);
}

// A return that is made again replaces the one before, whose memory stays until the call ends.
void keep_return(FrCallCtx* ctx, MadeReturn made) {
  const std::lock_guard lock(ctx->lock);
  CallExtras& extras = ctx->get_extras();
  for (MadeReturn& known : extras.returns) {
    if (known.index != made.index) continue;
    if (known.data != nullptr) extras.scratch.push_back(std::move(known.data));
    known = std::move(made);
    return;
  }
  extras.returns.push_back(std::move(made));
}

void* alloc_return(FrCallCtx* ctx, int32_t ret, int32_t rank, const int64_t* shape) try {
  const FrReturn& declared = entry_at(ctx->module->returns, static_cast<uint32_t>(ret));
  const int64_t bytes = dense_bytes(static_cast<DType>(declared.dtype), rank, shape);
  MemoryPtr memory = allocate_memory(bytes);
  if (memory == nullptr) {
    out_of_memory(ctx, bytes);
    return nullptr;
  }
  void* data = memory.get();
  keep_return(ctx, {ret, std::vector<int64_t>(shape, shape + rank), std::move(memory), -1, 0, {}});
  return data;
} catch (const std::bad_alloc&) {
  out_of_memory(ctx, 0);
  return nullptr;
}

int32_t view_return(FrCallCtx* ctx, int32_t ret, int32_t arg, int64_t byte_offset, int32_t rank, const int64_t* shape,
                    const int64_t* strides) try {
  keep_return(ctx, {ret, std::vector<int64_t>(shape, shape + rank), nullptr, arg, byte_offset,
                    std::vector<int64_t>(strides, strides + rank)});
  return FR_OK;
} catch (const std::bad_alloc&) {
  out_of_memory(ctx, 0);
  return FR_STATUS_ERROR;
}

int32_t run_parallel(FrCallCtx* ctx, int64_t n, int64_t grain, FrBody body, void* closure) {
  const ParallelRegion region{n, grain, ctx->num_threads, body, closure};
  if (ctx->extras != nullptr && ctx->extras->bridge.region != nullptr)
    return ctx->extras->bridge.region(ctx->extras->bridge.self, region);
  return parallel_for(n, grain, ctx->num_threads, body, closure);
}

int32_t call_back(FrCallCtx* ctx, int32_t arg, int32_t n, void* const* values, void* result) {
  if (ctx->extras != nullptr && ctx->extras->bridge.enter != nullptr)
    return ctx->extras->bridge.enter(ctx->extras->bridge.self, ctx, arg, n, values, result);
  const int64_t values_of_error[4] = {arg, 0, 0, 0};
  set_error(ctx, FR_ERR_VALUE, -1, values_of_error);
  return FR_STATUS_ERROR;
}

int64_t monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void* alloc_scratch(FrCallCtx* ctx, int64_t bytes) try {
  MemoryPtr memory = allocate_memory(bytes);
  if (memory == nullptr) {
    out_of_memory(ctx, bytes);
    return nullptr;
  }
  void* data = memory.get();
  const std::lock_guard lock(ctx->lock);
  ctx->get_extras().scratch.push_back(std::move(memory));
  return data;
} catch (const std::bad_alloc&) {
  out_of_memory(ctx, bytes);
  return nullptr;
}

int32_t evaluate(const FrCall* call, const FrProgram* program) {
  FrCallCtx* ctx = call->ctx;
  std::string failure;
  try {
    std::vector<uint8_t> kinds;
    for (uint32_t i = 0; i < ctx->module->n_returns; ++i) kinds.push_back(entry_at(ctx->module->returns, i).kind);
    return require_evaluator()(*call, *program, kinds);
  } catch (const std::bad_alloc&) {
    out_of_memory(ctx, 0);
    return FR_STATUS_ERROR;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  const std::lock_guard lock(ctx->lock);
  ctx->get_extras().failure = std::move(failure);
  return FR_STATUS_USER;
}

}  // namespace

const FrHost* host_table() {
  static const FrHost table = {
      .size = sizeof(FrHost),
      .version = FR_ABI_MAJOR << 16 | FR_ABI_MINOR,
      .set_error = set_error,
      .alloc_return = alloc_return,
      .view_return = view_return,
      .parallel_for = run_parallel,
      .callback = call_back,
      .blas = nullptr,
      .timer = monotonic_nanoseconds,
      .alloc_scratch = alloc_scratch,
      .evaluate = evaluate,
  };
  return &table;
}

}  // namespace ferrule
