#include "emit/reference.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "emit/descriptor.h"
#include "emit/head.h"
#include "emit/literal.h"
#include "emit/names.h"
#include "emit/text.h"
#include "program/visit.h"

namespace ferrule {
namespace {

// In the order of the text.
std::vector<int> sites_of_checks(const Program& program) {
  std::vector<int> sites;
  for_each_op(program.body, [&](const Op& op) {
    if (op.kind == OpKind::Check) sites.push_back(op.site);
  });
  return sites;
}

// A literal a line, for people.
void write_text(Text& out, std::string_view text) {
  out.line("static const char text[] =");
  while (!text.empty()) {
    const size_t end = text.find('\n') + 1;
    std::string line = quoted(text.substr(0, end - 1));
    line.insert(line.size() - 1, "\\n");
    out.line("    {}{}", line, end == text.size() ? ";" : "");
    text.remove_prefix(end);
  }
}

void write_run(Text& out, const std::string& text, const std::vector<int>& sites) {
  write_text(out, text);
  if (!sites.empty()) out.line("static const int32_t sites[] = {{{}}};", fmt::join(sites, ", "));
  out.open("static int32_t run(void* /*state*/, const FrCall* call)");
  out.line("const FrProgram program = {{sizeof(FrProgram), {}, text, {}, {}}};", sites.size(), text.size(),
           sites.empty() ? "nullptr" : "sites");
  out.line("return call->host->evaluate(call, &program);");
  out.close();
}

}  // namespace

std::string emit_reference(const Program& program, const std::string& text, const loops::Loops& loops,
                           const EmitOptions& options) {
  Text out;
  write_head(out, loops.name, {"facts.h", "import.h"});
  out.line("namespace {{");
  write_run(out, text, sites_of_checks(program));
  out.blank();
  Interface described = interface_of(loops, nullptr, options.strict_scalars);
  described.alias_safe = true;
  described.alias.clear();
  described.arena_bytes = 0;
  described.release_gil = true;  // no estimate tells how long it takes
  out.append(descriptor_text(described, options.digest, options.facts, "", FR_MODULE_SYMBOL, {.run = "run"}));
  out.line("FR_IMPORTABLE({})", identifier(loops.name));
  return out.take();
}

}  // namespace ferrule
