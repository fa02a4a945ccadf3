// How many threads a parallel region may use when the call does not say.
#pragma once

namespace ferrule {

// The first that is a positive number: FERRULE_NUM_THREADS, OMP_NUM_THREADS (its first entry), the processors that this
// process may run on. Read from the environment at each call; at least 1.
int default_num_threads();

}  // namespace ferrule
