// The functors of the operation table that need no polynomial: one template a row, named as the row. Operands come in
// the type that the row's rule computes with. Results are NumPy's, bit for bit, on every input: integer arithmetic
// wraps (computed unsigned, so nothing is undefined), floating point follows IEEE with NumPy's choices for zeros and
// NaN.
//
// Emitted code, the reference evaluator and constant folding all use these, so that they agree in every bit.
#pragma once

#include "ferrule/rt/arithmetic.h"
#include "ferrule/rt/base.h"
#include "ferrule/rt/cast.h"
#include "ferrule/rt/extremes.h"
#include "ferrule/rt/index.h"
#include "ferrule/rt/logic.h"
#include "ferrule/rt/rounding.h"
