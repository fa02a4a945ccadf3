#include "runtime/evaluator.h"

#include <fmt/format.h>

#include <atomic>

namespace ferrule {
namespace {

std::atomic<Evaluate> current{nullptr};
std::atomic<EvaluatorSource> current_source{nullptr};

}  // namespace

void set_evaluator(Evaluate evaluate) { current.store(evaluate); }

void set_evaluator_source(EvaluatorSource source) { current_source.store(source); }

bool has_evaluator() { return current.load() != nullptr || current_source.load() != nullptr; }

Evaluate require_evaluator() {
  if (current.load() == nullptr)
    if (const EvaluatorSource source = current_source.load()) source();
  if (const Evaluate evaluate = current.load()) return evaluate;
  throw no_evaluator("reference");
}

Error no_evaluator(std::string_view name) {
  return {
      ErrorKind::Incompatible,
      fmt::format("'{}' is compiled for target 'reference', which the evaluator of libferrule runs; link libferrule "
                  "and call ferrule::use_evaluator() first.",
                  name)};
}

}  // namespace ferrule
