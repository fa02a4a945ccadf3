// The C++ identifiers of one program: buffers, symbols, everything that emitted text names.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "loops/loops.h"

namespace ferrule {

class Names {
 public:
  explicit Names(const loops::Loops& loops);
  const std::string& buffer(BufferId id) const { return buffers_[id]; }
  const std::string& symbol(SymbolId id) const { return symbols_[id]; }
  SymbolNames symbols() const {
    return [this](SymbolId id) { return symbols_[id]; };
  }
  // An identifier that nothing else has, made from any text.
  std::string fresh(const std::string& text);

 private:
  std::set<std::string> taken_;
  std::vector<std::string> buffers_, symbols_;
};

// The text with every other character than letters, digits and '_' replaced; not empty, no leading digit.
std::string identifier(const std::string& text);

}  // namespace ferrule
