// NumPy 2 dtype promotion and the dtype rules of ops.def.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "program/op.h"

namespace ferrule {

// An operand as promotion sees it. weak: a Python bool (dtype Bool), int (I64) or float (F64); only its kind counts.
struct OperandType {
  DType dtype = DType::F64;
  bool weak = false;
};

// np.result_type of two dtypes.
DType promote(DType a, DType b);
// np.result_type of operands, weak ones after NEP 50; only weak: bool, int64 or float64 and weak.
OperandType promote(std::span<const OperandType> operands);

struct OpTypes {
  std::vector<DType> operands;  // the dtype each operand is cast to
  DType result;
  bool weak;  // all operands weak: the result is a Python number
};

// Types of an element-wise operation. Throws user_error (TypeError) where NumPy has no loop, unsupported where the
// result would be float16 or another dtype that is not computed with yet.
OpTypes infer(ElementOp op, std::span<const OperandType> operands);
// Accumulator and result dtype of a reduction.
DType infer(ReduceOp op, DType operand);

}  // namespace ferrule
