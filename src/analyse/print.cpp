#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyse/analyse.h"

namespace ferrule {

std::string print(const ProgramFacts& facts) {
  std::string out;
  for (size_t b = 0; b < facts.roots.size(); ++b) {
    out += fmt::format("buffer {}: memory {}", b, fmt::join(facts.roots[b], " "));
    if (!facts.may_be[b].empty()) out += fmt::format("; stands for {}", fmt::join(facts.may_be[b], " "));
    if (!facts.avoid[b].empty()) out += fmt::format("; outlives its iteration in {}", fmt::join(facts.avoid[b], " "));
    out += '\n';
  }
  for (const auto& [a, b] : facts.distinct) out += fmt::format("distinct: {} {}\n", a, b);
  if (facts.arguments_may_alias) out += "arguments may overlap\n";
  return out;
}

}  // namespace ferrule
