#include "call/handle.h"

#include <mutex>
#include <utility>

#include "runtime/host.h"

namespace ferrule {

Handle::Handle(std::shared_ptr<const Module> module)
    : module_(std::move(module)), plan_(make_plan(module_->descriptor())), host_(host_table()) {}

// The status of `exit` has nobody to go to here; finalize() reports it.
Handle::~Handle() { finalize(); }

int32_t Handle::initialize(const int64_t* symbols) {
  if (plan_.stateless) return FR_OK;
  const std::unique_lock lock(state_mutex_);
  if (initialized_) return FR_OK;
  const int32_t status = module_->descriptor().init(&state_, host_, symbols);
  initialized_ = status == FR_OK;
  return status;
}

int32_t Handle::finalize() {
  if (plan_.stateless) return FR_OK;
  const std::unique_lock lock(state_mutex_);
  if (!initialized_) return FR_OK;
  initialized_ = false;
  return module_->descriptor().exit(std::exchange(state_, nullptr));
}

int32_t Handle::run_with_state(const FrCall& call, FrRun entry) {
  for (;;) {
    {
      const std::shared_lock lock(state_mutex_);
      if (initialized_) return entry(state_, &call);
    }
    const int32_t status = initialize(call.symbols);
    if (status != FR_OK) return status;
  }
}

bool Handle::evaluates_long(const Frame& frame) const {
  const Evaluated work = plan_.work.eval(frame.symbols, frame.pointers);
  return work.overflow || work.value > kLongWork;
}

int32_t Handle::run_prepared(const Frame& frame, const FrCall& direct, FrRun entry, Fit fit) {
  FrCall call = direct;
  const auto enter = [&] { return plan_.stateless ? entry(nullptr, &call) : run_with_state(call, entry); };
  if (fit == Fit::Run && (plan_.module->flags & FR_MODULE_ARENA_FOR_ALIAS) != 0) return enter();
  const Evaluated bytes = plan_.arena_bytes.eval(frame.symbols, frame.pointers);
  if (bytes.value == 0 && !bytes.overflow) return enter();
  ArenaPool::Arena arena;
  if (!bytes.overflow && bytes.value > 0) arena = arenas_.lease(bytes.value);
  if (arena.memory == nullptr) {
    call.ctx->error = {FR_ERR_MEMORY, -1, {bytes.overflow ? -1 : bytes.value, 0, 0, 0}};
    return FR_STATUS_ERROR;
  }
  call.arena = arena.memory.get();
  const int32_t status = enter();
  arenas_.give_back(std::move(arena));
  return status;
}

void Handle::set_sites(std::vector<ErrorSite> sites) {
  const std::lock_guard lock(sites_mutex_);
  sites_ = std::move(sites);
}

Error Handle::failure(int32_t status, const RecordedError& recorded) const {
  const std::lock_guard lock(sites_mutex_);
  return run_failure(plan_, status, recorded, sites_);
}

}  // namespace ferrule
