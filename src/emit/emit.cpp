#include "emit/emit.h"

#include <set>

#include "emit/descriptor.h"
#include "emit/head.h"
#include "emit/names.h"
#include "emit/run_text.h"
#include "emit/text.h"

namespace ferrule {
namespace {

// One program between `namespace {` and its descriptor, which ends that namespace.
void write_program(Text& out, const loops::Loops& loops, const loops::Loops* alias_safe, const EmitOptions& options,
                   const std::string& scope, const std::string& symbol) {
  out.line("namespace {}{{", scope.empty() ? "" : scope + " ");
  out.append(RunText(loops, "run").write());
  out.blank();
  if (alias_safe != nullptr) {
    out.line("namespace overlap {{");
    out.append(RunText(*alias_safe, "run").write());
    out.line("}}  // namespace overlap");
    out.blank();
  }
  const EntryPoints entries{.run = "run", .run_alias = alias_safe != nullptr ? "overlap::run" : ""};
  const Interface described = interface_of(loops, alias_safe, options.strict_scalars);
  out.append(descriptor_text(described, options.digest, options.facts, scope, symbol, entries));
}

}  // namespace

std::string emit(const loops::Loops& loops, const loops::Loops* alias_safe, const EmitOptions& options) {
  std::set<std::string> headers = headers_of(loops);
  if (alias_safe != nullptr) headers.merge(headers_of(*alias_safe));
  Text out;
  headers.insert({"facts.h", "import.h"});
  write_head(out, loops.name, headers);
  write_program(out, loops, alias_safe, options, "", FR_MODULE_SYMBOL);
  out.line("FR_IMPORTABLE({})", identifier(loops.name));
  return out.take();
}

std::string emit_batch(const std::vector<const loops::Loops*>& programs, const EmitOptions& options) {
  std::set<std::string> headers = {"facts.h", "ops.h"};
  for (const loops::Loops* program : programs) headers.merge(headers_of(*program));
  Text out;
  write_head(out, programs.empty() ? "batch" : programs[0]->name, headers);
  for (size_t k = 0; k < programs.size(); ++k) {
    write_program(out, *programs[k], nullptr, options, fmt::format("program{}", k),
                  fmt::format("{}_{}", FR_MODULE_SYMBOL, k));
    out.blank();
  }
  if (!programs.empty()) {
    out.line("extern \"C\" __attribute__((visibility(\"default\"), alias(\"{0}_0\"))) const FrModule {0};",
             FR_MODULE_SYMBOL);
  }
  return out.take();
}

}  // namespace ferrule
