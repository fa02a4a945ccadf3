// The table of symbols of one program.
#include "index/facts.h"

namespace ferrule {

SymbolId Symbols::add(std::string name, SymbolKind kind, bool nonnegative) {
  SymbolId id = static_cast<SymbolId>(symbols_.size());
  std::string unique = name;
  for (int suffix = 1; !ids_.emplace(unique, id).second; ++suffix) unique = name + "_" + std::to_string(suffix);
  symbols_.push_back({std::move(unique), kind, nonnegative});
  return id;
}

std::optional<SymbolId> Symbols::find(std::string_view name) const {
  auto found = ids_.find(std::string(name));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

SymbolNames Symbols::names() const {
  return [this](SymbolId id) { return symbols_.at(id).name; };
}

}  // namespace ferrule
