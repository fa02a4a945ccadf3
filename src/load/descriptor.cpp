#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/entries.h"
#include "base/error.h"
#include "load/module.h"

namespace ferrule {
namespace {

Error incompatible(std::string message) { return Error(ErrorKind::Incompatible, std::move(message)); }

template <class Entry>
void check_table(const Entry* table, uint32_t count, const char* what, std::string_view origin) {
  if (count == 0) return;
  if (table == nullptr)
    throw incompatible(
        fmt::format("'{}' says that it has {} {} but does not list them; build it again.", origin, count, what));
  if (table->size < sizeof(Entry))
    throw incompatible(
        fmt::format("'{}' describes its {} in {} bytes each, but at least {} are expected; build it "
                    "again.",
                    origin, what, table->size, sizeof(Entry)));
  for (uint32_t i = 1; i < count; ++i)
    if (entry_at(table, i).size != table->size)
      throw incompatible(
          fmt::format("'{}' describes its {} in entries of different sizes; build it again.", origin, what));
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (comma != 0) names.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return names;
}

}  // namespace

std::string_view fact_of(const FrModule& d, std::string_view key) {
  for (uint32_t i = 0; i < d.n_facts; ++i)
    if (key == d.facts[i].key) return d.facts[i].value;
  return {};
}

void check_descriptor(const FrModule& d, std::string_view origin) {
  if (d.magic != FR_ABI_MAGIC)
    throw incompatible(fmt::format("'{}' is not a Ferrule module: its descriptor begins with {:#x}.", origin, d.magic));
  if (d.major != FR_ABI_MAJOR)
    throw incompatible(fmt::format("'{}' has ABI version {}.{}, but this library runs {}.x; build it again.", origin,
                                   d.major, d.minor, FR_ABI_MAJOR));
  if (d.size < sizeof(FrModule))
    throw incompatible(fmt::format("'{}' has a descriptor of {} bytes, but at least {} are expected; build it again.",
                                   origin, d.size, sizeof(FrModule)));
  check_table(d.args, d.n_args, "arguments", origin);
  check_table(d.symbols, d.n_symbols, "symbols", origin);
  check_table(d.returns, d.n_returns, "returns", origin);
  const bool stateless = (d.flags & FR_MODULE_STATELESS) != 0;
  if (d.name == nullptr || d.run == nullptr || (!stateless && (d.init == nullptr || d.exit == nullptr)))
    throw incompatible(fmt::format("'{}' lacks its name or an entry point; build it again.", origin));
  const auto missing = missing_features(split(fact_of(d, "features")));
  if (!missing.empty())
    throw incompatible(
        fmt::format("'{}' uses CPU features that this machine lacks ({}); build it here, or with "
                    "target='baseline'.",
                    origin, fmt::join(missing, ", ")));
}

}  // namespace ferrule
