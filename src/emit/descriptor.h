// The static descriptor of a module: what abi.h asks it to say about arguments, symbols, returns and guards.
#pragma once

#include <string>
#include <vector>

#include "emit/emit.h"
#include "loops/loops.h"

namespace ferrule {

// Definitions of the descriptor's tables, then of `symbol` itself, with `run` and `run_alias` (empty: none) as entry
// points.
std::string descriptor_text(const loops::Loops& loops, const EmitOptions& options, const std::string& scope,
                            const std::string& symbol, const std::string& run, const std::string& run_alias);

}  // namespace ferrule
