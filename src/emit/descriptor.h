// The static descriptor of a module: what abi.h asks it to say about arguments, symbols, returns and guards.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "emit/interface.h"

namespace ferrule {

// Functions that the descriptor names.
struct EntryPoints {
  std::string run;
  std::string run_alias;   // empty: none
  std::string init, exit;  // empty: none
  std::string take_error;  // empty: none
};

using BuildFacts = std::vector<std::pair<std::string, std::string>>;  // key, value

// Definitions of the descriptor's tables, then of `symbol` itself. `digest`: of what the text is made from.
std::string descriptor_text(const Interface& described, const std::string& digest, const BuildFacts& facts,
                            const std::string& scope, const std::string& symbol, const EntryPoints& entries);

}  // namespace ferrule
