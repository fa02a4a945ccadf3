// Gives every buffer that a pass has left in Arena its memory: a variable, the stack, an offset in the arena, or
// scratch.
#pragma once

#include "loops/loops.h"

namespace ferrule::loops {

// Buffers that are never live together share memory where their sizes are equal expressions: each takes the first slot
// of its size that is free, in order of first use; every slot is a multiple of 64 bytes. A size that depends on loop
// variables takes its bound over the loops; one that depends on values computed in the run becomes Scratch. Removes
// Makes that have nothing to do, and sets arena_bytes and work.
Loops place(Loops loops);

}  // namespace ferrule::loops
