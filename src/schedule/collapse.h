// Makes one long loop of axes that walk through memory as one.
#pragma once

#include "loops/loops.h"

namespace ferrule::loops {

// Two neighbouring axes become one where for every access the step of the outer is the inner's extent times the inner's
// step. Their accesses are flat afterwards, so this comes after every pass that compares indices.
Loops collapse(Loops loops);

}  // namespace ferrule::loops
