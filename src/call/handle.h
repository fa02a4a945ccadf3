// A callable module: the mapped code, its plan, and the state that belongs to this handle alone.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "call/bind.h"
#include "call/failure.h"
#include "load/module.h"
#include "runtime/arena.h"

namespace ferrule {

// Many handles may share one module. Every member may be called from several threads at once.
class Handle {
 public:
  // Raises what make_plan raises.
  explicit Handle(std::shared_ptr<const Module> module);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  const CallPlan& plan() const { return plan_; }
  const Module& module() const { return *module_; }
  const std::shared_ptr<const Module>& shared_module() const { return module_; }

  // A workspace that stays with the handle until finalize(); `owner` keeps the memory alive. Returns the owner of the
  // one before. Throws while a call uses the workspaces.
  std::shared_ptr<void> set_workspace(size_t index, std::shared_ptr<void> owner, void* data, int64_t bytes);
  // Bytes that a bound call needs of each workspace. Throws where one does not fit 64 bits.
  std::vector<int64_t> workspace_bytes(const Frame& frame) const;

  // Runs a bound call: leases the arena, initialises the handle if it is not, calls `run` or `run_alias`.
  // Frame::pointers hold the results' addresses already. Returns the module's status; what it recorded or made lies in
  // `ctx`, with an error that the program recorded of itself, which is taken unless ctx's extras say otherwise. An
  // arena that cannot be had is recorded in `ctx` like an error of the run. Throws, before the module is entered, for a
  // workspace that is missing, too small, misaligned or in use by another call, and for a persistent symbol of another
  // value than at initialisation, where `init` fails, and for an exception that the program throws.
  int32_t run(Frame& frame, Fit fit, FrCallCtx& ctx) {
    const FrRun entry = fit == Fit::RunAlias ? plan_.module->run_alias : plan_.module->run;
    FrCall call;
    fill_call(call, frame.pointers, frame.symbols, ctx, host_);
    if (fit == Fit::RunAlias ? plan_.direct_alias : plan_.direct) [[likely]]
      return run_module(entry, nullptr, call);
    return run_prepared(frame, call, entry, fit);
  }

  // Whether the bound call is estimated to be long (kLongWork), or the estimate itself overflows.
  bool is_long(const Frame& frame) const {
    if (plan_.short_work.known) [[likely]] {
      uint64_t largest = 0;
      for (const int32_t s : plan_.short_work.symbols)
        largest = std::max(largest, static_cast<uint64_t>(frame.symbols[s]));  // negative ones count as large
      if (largest <= plan_.short_work.largest) return false;
    }
    return evaluates_long(frame);
  }

  // Runs `init` unless it has run; `symbols` in descriptor order. Nothing for stateless modules. Throws where it fails,
  // and where it has run with other values of the persistent symbols.
  void initialize(const int64_t* symbols);
  // Waits for running calls, runs `exit` and lets go of the workspaces; a later call initialises again. Throws where
  // `exit` fails.
  void finalize();

  // Lines and texts of the user's program for errors that the module records by site.
  void set_sites(std::vector<ErrorSite> sites);
  // The error for a failed run.
  Error failure(int32_t status, const FrCallCtx& ctx) const;

 private:
  struct Workspace {
    std::shared_ptr<void> owner;
    void* data = nullptr;
    int64_t bytes = 0;
  };

  int32_t run_module(FrRun entry, void* state, const FrCall& call) const {
    try {
      return entry(state, &call);
    } catch (...) {
      throw_of_program(plan_);
    }
  }
  bool evaluates_long(const Frame& frame) const;
  void check_persistent(const int64_t* symbols) const;  // state_mutex_ is held
  int32_t run_with_workspaces(const Frame& frame, FrCall& call, FrRun entry);
  int32_t run_prepared(const Frame& frame, const FrCall& direct, FrRun entry, Fit fit);
  int32_t run_with_state(const FrCall& call, FrRun entry);
  int32_t enter(FrRun entry, const FrCall& call) const;  // state_mutex_ is held where there is state
  int32_t end(std::string& text);                        // finalize() without its errors

  const std::shared_ptr<const Module> module_;
  const CallPlan plan_;
  const FrHost* const host_;
  ArenaPool arenas_;
  // Calls share it, init and exit own it; stateless modules never touch it.
  std::shared_mutex state_mutex_;
  bool initialized_ = false;
  void* state_ = nullptr;
  std::vector<int64_t> kept_;  // values of the persistent symbols, while initialised
  // Held by the one call that uses the workspaces, and while one is set.
  std::mutex workspace_mutex_;
  std::vector<Workspace> workspaces_;
  mutable std::mutex sites_mutex_;
  std::vector<ErrorSite> sites_;
};

}  // namespace ferrule
