// The functions that a module may call back: the one table handed to every `init`, and to stateless modules through it.
#pragma once

#include "ferrule/abi.h"

namespace ferrule {

// The same table for every module and call; valid for ever. `blas` is NULL: no module may need it yet.
const FrHost* host_table();

}  // namespace ferrule
