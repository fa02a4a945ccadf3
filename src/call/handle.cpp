#include "call/handle.h"

#include <mutex>
#include <utility>

#include "runtime/evaluator.h"
#include "runtime/host.h"

namespace ferrule {
namespace {

// The status after the program's own record has been asked; nothing is asked of other failures.
int32_t take_error(const FrModule& module, void* state, int32_t status, std::string& text) {
  if (module.take_error == nullptr || (status != FR_OK && !is_own_status(status))) return status;
  const char* recorded = nullptr;
  const int32_t taken = module.take_error(state, status, &recorded);
  if (recorded != nullptr) text = recorded;
  return taken;
}

std::shared_ptr<const Module> with_evaluator(std::shared_ptr<const Module> module) {
  const FrModule& descriptor = module->descriptor();
  if (fact_of(descriptor, "target") == "reference" && !has_evaluator()) throw no_evaluator(descriptor.name);
  return module;
}

}  // namespace

Handle::Handle(std::shared_ptr<const Module> module)
    : module_(with_evaluator(std::move(module))),
      plan_(make_plan(module_->descriptor())),
      host_(host_table()),
      workspaces_(plan_.workspaces.size()) {}

// What `exit` gives or throws has nobody to go to here; finalize() reports it.
Handle::~Handle() {
  std::string text;
  try {
    end(text);
  } catch (const std::exception&) {
  }
}

void Handle::initialize(const int64_t* symbols) {
  if (plan_.stateless) return;
  {
    // A running call may ask for this through a callback, and holds a share of the lock.
    const std::shared_lock lock(state_mutex_);
    if (initialized_) {
      check_persistent(symbols);
      return;
    }
  }
  const std::unique_lock lock(state_mutex_);
  if (initialized_) {
    check_persistent(symbols);
    return;
  }
  kept_.clear();
  for (const int32_t s : plan_.persistent) kept_.push_back(symbols[s]);
  const bool all = plan_.persistent.empty();
  int32_t status = FR_OK;
  try {
    status = module_->descriptor().init(&state_, host_, all ? symbols : kept_.data());
  } catch (...) {
    throw_of_program(plan_);
  }
  std::string text;
  status = take_error(*plan_.module, nullptr, status, text);
  initialized_ = status == FR_OK;
  if (!initialized_) throw end_failure(plan_, "init", status, text);
}

void Handle::check_persistent(const int64_t* symbols) const {
  for (size_t i = 0; i < kept_.size(); ++i)
    if (symbols[plan_.persistent[i]] != kept_[i])
      throw persistent_failure(plan_, plan_.persistent[i], kept_[i], symbols[plan_.persistent[i]]);
}

void Handle::finalize() {
  std::string text;
  const int32_t status = end(text);
  if (status != FR_OK) throw end_failure(plan_, "exit", status, text);
}

int32_t Handle::end(std::string& text) {
  if (!plan_.workspaces.empty()) {
    std::vector<Workspace> released(plan_.workspaces.size());  // outlives the lock: owners may run any code
    const std::lock_guard lock(workspace_mutex_);
    workspaces_.swap(released);
  }
  if (plan_.stateless) return FR_OK;
  const std::unique_lock lock(state_mutex_);
  if (!initialized_) return FR_OK;
  initialized_ = false;
  int32_t status = FR_OK;
  try {
    status = module_->descriptor().exit(std::exchange(state_, nullptr));
  } catch (...) {
    throw_of_program(plan_);
  }
  return take_error(*plan_.module, nullptr, status, text);
}

int32_t Handle::enter(FrRun entry, const FrCall& call) const {
  const int32_t status = run_module(entry, state_, call);
  if (!plan_.takes_errors || (call.ctx->extras != nullptr && call.ctx->extras->leaves_errors)) return status;
  std::string text;
  const int32_t taken = take_error(*plan_.module, state_, status, text);
  if (!text.empty()) call.ctx->get_extras().failure = std::move(text);
  return taken;
}

int32_t Handle::run_with_state(const FrCall& call, FrRun entry) {
  for (;;) {
    {
      const std::shared_lock lock(state_mutex_);
      if (initialized_) {
        check_persistent(call.symbols);
        return enter(entry, call);
      }
    }
    initialize(call.symbols);
  }
}

bool Handle::evaluates_long(const Frame& frame) const {
  const Evaluated work = plan_.work.eval(frame.symbols, frame.pointers);
  return work.overflow || work.value > kLongWork;
}

std::shared_ptr<void> Handle::set_workspace(size_t index, std::shared_ptr<void> owner, void* data, int64_t bytes) {
  const std::unique_lock lock(workspace_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) throw workspace_failure(plan_, index, WorkspaceProblem::Busy, 0, 0);
  std::shared_ptr<void> old = std::move(workspaces_[index].owner);
  workspaces_[index] = {std::move(owner), data, bytes};
  return old;
}

std::vector<int64_t> Handle::workspace_bytes(const Frame& frame) const {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < plan_.workspaces.size(); ++i) {
    const Evaluated bytes = plan_.workspaces[i].bytes.eval(frame.symbols, frame.pointers);
    if (bytes.overflow) throw workspace_failure(plan_, i, WorkspaceProblem::Overflow, 0, 0);
    if (bytes.value < 0) throw workspace_failure(plan_, i, WorkspaceProblem::Negative, bytes.value, 0);
    sizes.push_back(bytes.value);
  }
  return sizes;
}

int32_t Handle::run_with_workspaces(const Frame& frame, FrCall& call, FrRun entry) {
  const auto enter_it = [&] { return plan_.stateless ? enter(entry, call) : run_with_state(call, entry); };
  if (workspaces_.empty()) return enter_it();
  // Waiting here could hold the interpreter's lock against the call that is waited for.
  const std::unique_lock lock(workspace_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) throw workspace_failure(plan_, 0, WorkspaceProblem::Busy, 0, 0);
  const std::vector<int64_t> needed = workspace_bytes(frame);
  std::vector<void*> pointers;
  for (size_t i = 0; i < needed.size(); ++i) {
    const Workspace& given = workspaces_[i];
    const auto alignment = static_cast<uintptr_t>(plan_.workspaces[i].declared->alignment);
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(given.data) % alignment);
    if (given.owner == nullptr) throw workspace_failure(plan_, i, WorkspaceProblem::Missing, needed[i], 0);
    if (given.bytes < needed[i]) throw workspace_failure(plan_, i, WorkspaceProblem::Small, needed[i], given.bytes);
    if (past != 0) throw workspace_failure(plan_, i, WorkspaceProblem::Misaligned, needed[i], past);
    pointers.push_back(given.data);
  }
  call.workspaces = pointers.data();
  return enter_it();
}

int32_t Handle::run_prepared(const Frame& frame, const FrCall& direct, FrRun entry, Fit fit) {
  FrCall call = direct;
  const auto enter = [&] { return run_with_workspaces(frame, call, entry); };
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

Error Handle::failure(int32_t status, const FrCallCtx& ctx) const {
  const std::lock_guard lock(sites_mutex_);
  return run_failure(plan_, status, ctx, sites_);
}

}  // namespace ferrule
