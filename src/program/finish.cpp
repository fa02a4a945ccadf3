// From a program under construction to a finished one.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/builder.h"
#include "program/normalize.h"
#include "program/verify.h"

namespace ferrule {

// A view of memory that the call made becomes a fresh array; a view of an argument stays one.
Result ProgramBuilder::owned_result(Result result) {
  if (result.kind != ResultKind::Value) return result;
  const ValueType& type = use(result.value);
  if (type.kind != ValueKind::View) return result;
  const std::vector<BufferId> roots = roots_of(program_, type.buffer);
  const auto is_argument = [&](BufferId id) { return program_.buffers[id].storage == Storage::Argument; };
  if (std::all_of(roots.begin(), roots.end(), is_argument)) return result;
  if (std::any_of(roots.begin(), roots.end(), is_argument))
    throw unsupported(
        "Ferrule cannot return an array that is an argument on one path and a new array on another; return a copy of "
        "it.");
  result.value = load(result.value);
  return result;
}

Program ProgramBuilder::finish() {
  if (stack_.size() != 1) throw internal_error("A region is still open at the end of the program.");
  close_may_be(program_);
  site_ = -1;
  for (Result& result : program_.results) result = owned_result(result);
  remove_dead(program_);
  set_access_flags(program_);
  canonicalize_sizes(program_);
  renumber(program_);
  Program program = std::move(program_);
  program_ = Program{};
  facts_ = Facts(&program_.symbols);
  stack_.clear();
  stack_.push_back({&program_.body, 0, {}});
  definitions_.clear();
  live_regions_ = {true};
  opaque_.clear();
  verify(program);
  return program;
}

}  // namespace ferrule
