// The sentences that tell why a run, or the beginning or end of a handle's state, failed. Cold, like those of refuse.h.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "call/plan.h"
#include "runtime/call_ctx.h"

namespace ferrule {

// Where an error of a module comes from in the user's program, as FrHost::set_error's `site` counts them.
struct ErrorSite {
  std::string location;  // "file.py:12"; may be empty
  std::string message;   // the program's own text of an assert or raise; may be empty
};

enum class WorkspaceProblem : uint8_t { Missing, Small, Misaligned, Negative, Overflow, Busy };

// The error for workspace `index` of a call; `got`: its bytes, or how far it is from the alignment.
Error workspace_failure(const CallPlan& plan, size_t index, WorkspaceProblem problem, int64_t needed, int64_t got);

// The error for a persistent symbol that a call gives another value than the handle was initialised with.
Error persistent_failure(const CallPlan& plan, int32_t symbol, int64_t kept, int64_t got);

// The error for a status that is not FR_OK: what ctx recorded, or the number itself.
Error run_failure(const CallPlan& plan, int32_t status, const FrCallCtx& ctx, const std::vector<ErrorSite>& sites);

// To be called while an exception is in flight that left the module's code: throws it as an error of the program.
// Errors of ours, a failed allocation and the end of a thread pass as they are.
[[noreturn, gnu::cold]] void throw_of_program(const CallPlan& plan);

// Whether the program itself gave the status, not its host or frame.
inline bool is_own_status(int32_t status) { return status < 0 || status >= FR_STATUS_USER; }

// The error for a status of `init` or `exit`, which `end` names; `text`: what the program recorded.
Error end_failure(const CallPlan& plan, const char* end, int32_t status, const std::string& text);

}  // namespace ferrule
