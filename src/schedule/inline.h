// Substitutes producers into their consumers: values that would be stored once and read back become registers.
#pragma once

#include "loops/loops.h"

namespace ferrule::loops {

// A nest that writes the whole of a temporary, each element once and in any order, is put into the nests that read it,
// at their index maps; loads and operations that coincide there are computed once. Not where the work that this repeats
// exceeds what a store and the loads cost, where the body would grow too long, where something that the producer reads
// changes in between, or where the consumer would overwrite what it has yet to read (the temporary then is the copy
// that NumPy's meaning asks for). Temporaries that nothing reads go.
Loops inline_producers(Loops loops);

}  // namespace ferrule::loops
