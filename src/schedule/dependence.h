// Whether the iterations of a nest may run in some order although it reads memory that it writes.
#pragma once

#include <optional>

#include "index/facts.h"
#include "loops/loops.h"
#include "loops/walk.h"

namespace ferrule::loops {

// The nest with an order in which every load sees what memory held before the nest began: Free where no iteration
// writes what another one reads, Sequential with chosen directions where all distances agree. nullopt where no such
// order is known; the right-hand side then needs memory of its own. `facts` hold where the nest stands.
std::optional<Nest> ordered_for_old_values(Nest nest, const Aliases& aliases, Facts& facts);

// Whether two accesses in iterations of the same axes never touch the same element.
bool never_meet(const Access& a, const Access& b, const std::vector<Axis>& axes, Facts& facts);

}  // namespace ferrule::loops
