// Makes neighbouring nests over the same axes one, so that they share loads and what one stores the other need not read
// back.
#pragma once

#include "loops/loops.h"

namespace ferrule::loops {

// Two nests join if both are Free, their axes are equal, they touch a common buffer, and no element that one writes is
// touched by the other in another iteration. Statements between them may be passed where nothing they do matters to the
// second. Temporaries that nothing reads afterwards are not stored.
Loops join(Loops loops);

}  // namespace ferrule::loops
