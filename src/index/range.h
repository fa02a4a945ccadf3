// Whether the value of an expression is certain to be an int64, from the ranges of its symbols.
#pragma once

#include "index/expr.h"
#include "index/facts.h"

namespace ferrule {

// low: not less than the smallest int64; high: not more than the largest.
struct Int64Fit {
  bool low, high;
};

// What is certain of the expression, over the integers, for all values that its symbols can have: extents and strides
// are below 2**47 in magnitude (what memory there is), everything else is any int64; loop variables count with their
// bounds. Facts other than bounds of loops are not used.
Int64Fit fit_int64(const Expr& expr, const Facts& facts, const Symbols& symbols);

}  // namespace ferrule
