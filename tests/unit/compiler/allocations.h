// Counts what operator new gives, for tests that measure work without a clock.
#pragma once

#include <cstddef>

namespace ferrule {

// Allocations of this process so far.
size_t allocations();

}  // namespace ferrule
