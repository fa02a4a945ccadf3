// A program with every kind of operation, and short ways to build others.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "program/builder.h"

namespace ferrule::testing {

inline ValueId apply(ProgramBuilder& b, ElementOp op, std::initializer_list<ValueId> operands) {
  return b.elementwise(op, std::vector<ValueId>(operands));
}

inline ValueId python_int(ProgramBuilder& b, int64_t value) {
  return b.constant(DType::I64, static_cast<uint64_t>(value), true);
}

inline ValueId python_float(ProgramBuilder& b, double value) {
  return b.constant(DType::F64, __builtin_bit_cast(uint64_t, value), true);
}

inline Expr extent(ProgramBuilder& b, std::string name) {
  return Expr::symbol(b.symbols().add(std::move(name), SymbolKind::Extent, true));
}

inline ValueId array(ProgramBuilder& b, std::string name, std::vector<Expr> shape, DType dtype = DType::F64) {
  return b.array_argument(std::move(name), dtype, std::move(shape), {}, Layout::C, 0, false);
}

// view[lo : lo + extent] along axis 0.
inline ValueId rows(ProgramBuilder& b, ValueId view, const Expr& lo, const Expr& count) {
  IndexMap map = IndexMap::identity(b.type(view).shape);
  map.shape[0] = count;
  map.axes[0].start = lo;
  return b.window(view, std::move(map));
}

// Every kind of operation, argument, buffer, symbol source and result. `a` [N, M] f64, `b` [N, M] f32 in F order, `k`
// [N] i64 with any stride, the weak integer `n`, the strong float32 `w`, a static `flag`, a hidden constant of 4.
Program sample_program();

}  // namespace ferrule::testing
