// Loops -> Source: one C++ translation unit that includes only ferrule/rt and ferrule/abi.h, with its descriptor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "loops/loops.h"

namespace ferrule {

struct EmitOptions {
  std::string digest;                                      // L1, embedded in the descriptor
  std::vector<std::pair<std::string, std::string>> facts;  // key, value; embedded as they are
  bool strict_scalars = false;
};

// `alias_safe`: a second version of the program that is right for every overlap, emitted as run_alias; may be null.
std::string emit(const loops::Loops& loops, const loops::Loops* alias_safe, const EmitOptions& options);

// Several programs in one translation unit (tests batch them): each with its own descriptor symbol
// ferrule_module_v1_<index>; the first has the plain name too.
std::string emit_batch(const std::vector<const loops::Loops*>& programs, const EmitOptions& options);

}  // namespace ferrule
