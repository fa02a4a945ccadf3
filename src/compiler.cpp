#include "compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyse/analyse.h"
#include "artifact/compile.h"
#include "base/error.h"
#include "compiler_digest.h"
#include "emit/emit.h"
#include "emit/reference.h"
#include "emit/source_kernel.h"
#include "lower/lower.h"
#include "program/evaluate_call.h"
#include "program/program_text.h"
#include "program/verify.h"
#include "runtime/evaluator.h"
#include "schedule/schedule.h"

namespace ferrule {
namespace {

template <class T>
void nothing(const T&) {}

std::string same(const std::string& text) { return text; }

// Options that change the emitted text, as canonical text.
std::string options_text(const EmitRequest& request) {
  return fmt::format("strict_scalars={} alias_version={} off={}{}", request.strict_scalars, request.alias_version,
                     fmt::join(request.passes.off, ","), request.reference ? " reference" : "");
}

std::string print_loops(const loops::Loops& loops) { return loops::print(loops); }
void verify_loops(const loops::Loops& loops) { loops::verify(loops); }

loops::Loops lower(const Program& program, Passes& passes) {
  const ProgramFacts facts = passes.run(
      "analyse", [&] { return analyse(program); }, [](const ProgramFacts& f) { return print(f); },
      nothing<ProgramFacts>);
  return passes.run("lower", [&] { return lower(program, facts); }, print_loops, verify_loops);
}

loops::Loops schedule(const Program& program, Passes& passes) {
  loops::Loops loops = lower(program, passes);
  for (const SchedulePass& pass : schedule_passes())
    loops = passes.rewrite(pass.name, std::move(loops), pass.required, pass.run, print_loops, verify_loops);
  return loops;
}

// The loops that are run, and their version for arguments that overlap.
std::string emit_loops(const Program& program, const EmitRequest& request, const EmitOptions& options, Passes& passes) {
  const loops::Loops loops = schedule(program, passes);
  std::optional<loops::Loops> alias_safe;
  if (request.alias_version && !loops.alias_safe && !loops.alias.empty()) {
    Program overlapping = program;
    overlapping.arguments_may_alias = true;
    Passes quiet(PassOptions{.off = request.passes.off});
    alias_safe = schedule(overlapping, quiet);
  }
  return passes.run(
      "emit", [&] { return emit(loops, alias_safe ? &*alias_safe : nullptr, options); }, same, nothing<std::string>);
}

std::string emit_text(const Program& program, const std::string& text, const EmitOptions& options, Passes& passes) {
  const loops::Loops loops = lower(program, passes);
  return passes.run("emit", [&] { return emit_reference(program, text, loops, options); }, same, nothing<std::string>);
}

}  // namespace

EmittedSource emit_source(const Program& program, const EmitRequest& request) {
  Passes passes(request.passes);
  const std::string text = passes.run(
      "program",
      [&] {
        verify(program);
        return print(program);
      },
      same, nothing<std::string>);

  EmittedSource out;
  out.ingredients = program_ingredients(text, "", options_text(request), FERRULE_COMPILER_DIGEST);

  EmitOptions options{.digest = digest_of(out.ingredients), .strict_scalars = request.strict_scalars};
  if (request.reference) {
    options.facts = {{"target", "reference"}};
    out.source = emit_text(program, text, options, passes);
  } else {
    out.source = emit_loops(program, request, options, passes);
  }
  out.times = passes.times();
  out.text = passes.text();
  return out;
}

EmittedSource emit_source(const Signature& signature, const std::string& author_text, const PassOptions& options) {
  Passes passes(options);
  EmittedSource out;
  out.ingredients = program_ingredients(author_text, to_json(signature), "", FERRULE_COMPILER_DIGEST);
  const std::string digest = digest_of(out.ingredients);
  out.source = passes.run(
      "emit", [&] { return emit_source_kernel(signature, author_text, digest); }, same, nothing<std::string>);
  out.times = passes.times();
  return out;
}

Compilation compile(const Program& program, const CompileOptions& options, Store& store) {
  EmitRequest request = options.emit;
  if (options.build.target == "reference") request.reference = true, use_evaluator();
  EmittedSource emitted = emit_source(program, request);
  CompileStats stats;
  Artifact artifact = compile_source({program.name, emitted.source, "{}", emitted.ingredients}, options.compiler,
                                     options.build, store, &stats);
  emitted.times.push_back({"build", stats.compiler_seconds});
  return {std::move(artifact), std::move(emitted), stats.compiles > 0};
}

void use_evaluator() { set_evaluator(evaluate_call); }

std::vector<std::string> stage_names() {
  std::vector<std::string> names = {"program", "analyse", "lower"};
  for (const SchedulePass& pass : schedule_passes()) names.emplace_back(pass.name);
  names.emplace_back("emit");
  return names;
}

void require_stage(const std::string& name) {
  const std::vector<std::string> names = stage_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw user_error(fmt::format("'{}' is no stage; the stages are {}.", name, fmt::join(names, ", ")));
}

void require_optional_pass(const std::string& name) {
  std::vector<std::string> names;
  for (const SchedulePass& pass : schedule_passes())
    if (!pass.required) names.emplace_back(pass.name);
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw user_error(fmt::format("'{}' cannot be left out; the passes that can are {}.", name, fmt::join(names, ", ")));
}

std::string_view compiler_digest() { return FERRULE_COMPILER_DIGEST; }

}  // namespace ferrule
