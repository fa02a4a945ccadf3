// Chooses the order of the axes of nests that may run in any order.
#pragma once

#include "loops/loops.h"

namespace ferrule::loops {

// The axis along which memory moves least comes last, the others by the same measure: C order for C-ordered arrays, the
// reverse for Fortran's. Reductions reorder their parallel and their reduced axes apart.
Loops order(Loops loops);

}  // namespace ferrule::loops
