#include "call/failure.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cctype>
#include <exception>
#include <new>

#include "base/entries.h"
#include "base/error_code.h"

namespace ferrule {
namespace {

std::string recorded_sentence(const RecordedError& e, const std::string& message) {
  switch (e.code) {
    case FR_ERR_INDEX:
      if (e.values[2] < 0) return message.empty() ? "an index is out of bounds" : message;
      if (e.values[1] < 0) return fmt::format("index {} is out of bounds for size {}", e.values[0], e.values[2]);
      return fmt::format("index {} is out of bounds for axis {} with size {}", e.values[0], e.values[1], e.values[2]);
    case FR_ERR_SHAPE:
      return message.empty() ? fmt::format("extents {} and {} of axis {} differ", e.values[0], e.values[1], e.values[2])
                             : message;
    case FR_ERR_DOMAIN:
      return message.empty() ? fmt::format("{} is outside of the domain of the operation", e.values[0]) : message;
    case FR_ERR_ASSERT:
      return message.empty() ? "an assertion of the program failed" : message;
    case FR_ERR_MEMORY:
      if (e.values[0] == 0) return "there is no more memory";
      return e.values[0] < 0 ? "more than 2**63 bytes of memory cannot be had"
                             : fmt::format("{} bytes of memory cannot be had", e.values[0]);
    case FR_ERR_UNDEFINED:
      return message.empty() ? "a name was read before it was assigned" : message;
    case FR_ERR_OVERFLOW:
      return message.empty() ? "a Python int does not fit into 64 bits" : message;
    case FR_ERR_ZERO_DIVISION:
      return message.empty() ? "division by zero" : message;
    default:
      return message.empty() ? fmt::format("the program failed with error {} ({})", e.code, e.values[0]) : message;
  }
}

// "returned status 3: no device": the program's own status, with what it recorded or its signature says of it.
std::string own_failure(const FrModule& module, int32_t status, std::string text) {
  while (!text.empty() && (text.back() == '.' || std::isspace(static_cast<unsigned char>(text.back())) != 0))
    text.pop_back();
  const int64_t own = status < 0 ? status : status - FR_STATUS_USER;
  for (uint32_t i = 0; text.empty() && i < module.n_statuses; ++i)
    if (module.statuses[i].status == own) text = module.statuses[i].text;
  if (own == 0) return fmt::format("recorded an error{}{}", text.empty() ? "" : ": ", text);
  return fmt::format("returned status {}{}{}", own, text.empty() ? "" : ": ", text);
}

}  // namespace

Error workspace_failure(const CallPlan& plan, size_t index, WorkspaceProblem problem, int64_t needed, int64_t got) {
  const char* name = plan.module->name;
  const FrWorkspace& w = *plan.workspaces[index].declared;
  switch (problem) {
    case WorkspaceProblem::Missing:
      return user_error(fmt::format("{}(): the workspace '{}' of {} bytes is missing; give it by set_workspace().",
                                    name, w.name, needed),
                        Builtin::Runtime);
    case WorkspaceProblem::Small:
      return user_error(fmt::format("{}(): the workspace '{}' has {} bytes, but {} are needed; give a larger one by "
                                    "set_workspace().",
                                    name, w.name, got, needed),
                        Builtin::Value);
    case WorkspaceProblem::Misaligned:
      return user_error(
          fmt::format("{}(): the workspace '{}' begins {} bytes past a multiple of {}; give aligned memory.", name,
                      w.name, got, w.alignment),
          Builtin::Value);
    case WorkspaceProblem::Negative:
      return user_error(fmt::format("{}(): the workspace '{}' would have {} bytes.", name, w.name, needed),
                        Builtin::Value);
    case WorkspaceProblem::Overflow:
      return user_error(fmt::format("{}(): the size of the workspace '{}' does not fit into 64 bits.", name, w.name),
                        Builtin::Overflow);
    case WorkspaceProblem::Busy:
      break;
  }
  return user_error(
      fmt::format("{}(): another call is using the workspaces of this handle; load one handle a thread.", name),
      Builtin::Runtime);
}

Error persistent_failure(const CallPlan& plan, int32_t symbol, int64_t kept, int64_t got) {
  const char* name = entry_at(plan.module->symbols, static_cast<uint32_t>(symbol)).name;
  return user_error(fmt::format("{}(): {} = {}, but the handle was initialised with {} = {}; call finalize() first.",
                                plan.module->name, name, got, name, kept),
                    Builtin::Value);
}

Error end_failure(const CallPlan& plan, const char* end, int32_t status, const std::string& text) {
  const char* name = plan.module->name;
  if (status == FR_STATUS_NO_STATE)
    return user_error(fmt::format("{}(): '{}' gave no state, but a null pointer.", name, end), Builtin::Runtime);
  if (!is_own_status(status))
    return user_error(fmt::format("{}(): '{}' failed with status {}.", name, end, status), Builtin::Runtime);
  return user_error(fmt::format("{}(): '{}' {}.", name, end, own_failure(*plan.module, status, text)),
                    Builtin::Runtime);
}

void throw_of_program(const CallPlan& plan) try { throw; } catch (const Error&) {
  throw;
} catch (const std::bad_alloc&) {
  throw;
} catch (const abi::__forced_unwind&) {
  throw;
} catch (const std::exception& thrown) {
  const char* text = thrown.what();
  throw user_error(fmt::format("{}(): the native function threw an exception: {}.", plan.module->name,
                               text != nullptr ? text : "without a text"),
                   Builtin::Runtime);
} catch (...) {
  throw user_error(fmt::format("{}(): the native function threw what is no std::exception.", plan.module->name),
                   Builtin::Runtime);
}

Error run_failure(const CallPlan& plan, int32_t status, const FrCallCtx& ctx, const std::vector<ErrorSite>& sites) {
  const char* name = plan.module->name;
  const RecordedError& recorded = ctx.error;
  if (recorded.code == 0) {
    if (!is_own_status(status))
      return user_error(fmt::format("{}(): the run failed with status {} and recorded no error.", name, status),
                        Builtin::Runtime);
    const std::string text = ctx.extras != nullptr ? ctx.extras->failure : "";
    return user_error(fmt::format("{}(): the program {}.", name, own_failure(*plan.module, status, text)),
                      Builtin::Runtime);
  }
  static const ErrorSite kNowhere;
  const bool known = recorded.site >= 0 && static_cast<size_t>(recorded.site) < sites.size();
  const ErrorSite& site = known ? sites[static_cast<size_t>(recorded.site)] : kNowhere;
  std::string text = fmt::format("{}(): {}", name, recorded_sentence(recorded, site.message));
  if (!site.location.empty()) text += fmt::format(" ({})", site.location);
  return user_error(text + ".", builtin_of_code(recorded.code));
}

}  // namespace ferrule
