// Conversion of known scalars, with the functors that emitted code uses.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace ferrule {

// The bytes of a scalar, zero-extended, converted from one computable dtype to another as cast<To>(From) does.
uint64_t convert_bits(DType from, DType to, uint64_t bits);

}  // namespace ferrule
