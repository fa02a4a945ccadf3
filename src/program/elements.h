// The functor of each element-wise operation for one combination of operand dtypes, found at run time.
#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "program/op.h"

namespace ferrule {

// Takes one element an operand and gives the result, all as zero-extended bytes.
using ElementFunction = uint64_t (*)(const uint64_t* operands);

// The function fr::<op> on operands of these dtypes; internal_error for dtypes that infer() never computes with.
ElementFunction element_function(ElementOp op, std::span<const DType> dtypes);

}  // namespace ferrule
