// Arguments that Python spells in more than one way: dtypes, operations, expressions, index maps.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "program/op.h"
#include "program/program.h"

namespace ferrule::python {

// A DType, a NumPy name ("float64") or a short name ("f64"); TypeError or ValueError otherwise.
DType to_dtype(nanobind::handle value);
// An id of ops.def ("add") or the number that element_ops() gives.
ElementOp to_element_op(nanobind::handle value);
ReduceOp to_reduce_op(nanobind::handle value);
// An Expr or a Python int.
Expr to_expr(nanobind::handle value);
// A sequence of those.
std::vector<Expr> to_exprs(nanobind::handle values);
// (start, [(axis, step), ...]) for each source axis.
IndexMap to_index_map(nanobind::handle shape, nanobind::handle axes);

}  // namespace ferrule::python
