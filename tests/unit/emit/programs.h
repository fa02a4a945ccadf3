// Short spellings for building test programs.
#pragma once

#include <bit>
#include <initializer_list>
#include <string>
#include <vector>

#include "program/builder.h"

namespace ferrule::testing {

using Op = ElementOp;

inline ValueId apply(ProgramBuilder& b, Op op, std::initializer_list<ValueId> operands) {
  return b.elementwise(op, std::vector<ValueId>(operands));
}
inline ValueId real(ProgramBuilder& b, double value) {
  return b.constant(DType::F64, std::bit_cast<uint64_t>(value), true);
}
inline ValueId integer(ProgramBuilder& b, int64_t value) { return b.constant(DType::I64, uint64_t(value), true); }
inline Expr extent(ProgramBuilder& b, const std::string& name) {
  return Expr::symbol(b.symbols().add(name, SymbolKind::Extent, true));
}
inline ValueId array(ProgramBuilder& b, const std::string& name, std::vector<Expr> shape, DType dtype = DType::F64,
                     Layout layout = Layout::C, std::vector<Expr> strides = {}) {
  return b.array_argument(name, dtype, std::move(shape), std::move(strides), layout, 0, false);
}

// value[..., start : start + count*step : step, ...] along `axis`.
inline ValueId slice(ProgramBuilder& b, ValueId value, int axis, const Expr& start, const Expr& count,
                     const Expr& step = 1) {
  IndexMap map = IndexMap::identity(b.type(value).shape);
  map.shape[axis] = count;
  map.axes[axis].start = start;
  map.axes[axis].terms[0].step = step;
  return b.window(value, map);
}
// value[..., at, ...] along `axis`, which goes.
inline ValueId pick(ProgramBuilder& b, ValueId value, int axis, const Expr& at) {
  const std::vector<Expr> shape = b.type(value).shape;
  IndexMap map;
  for (int k = 0, to = 0; k < int(shape.size()); ++k) {
    AxisMap source;
    if (k == axis) {
      source.start = at;
    } else {
      source.terms.push_back({to++, 1});
      map.shape.push_back(shape[k]);
    }
    map.axes.push_back(source);
  }
  return b.window(value, map);
}
inline ValueId transpose(ProgramBuilder& b, ValueId value) {
  const std::vector<Expr> shape = b.type(value).shape;
  const int rank = int(shape.size());
  IndexMap map;
  for (int k = rank; k-- > 0;) map.shape.push_back(shape[k]);
  for (int k = 0; k < rank; ++k) map.axes.push_back({0, {{rank - 1 - k, 1}}});
  return b.window(value, map);
}
// A new axis of extent 1 at `at`.
inline ValueId expand(ProgramBuilder& b, ValueId value, int at) {
  const std::vector<Expr> shape = b.type(value).shape;
  IndexMap map;
  for (int k = 0, to = 0; k < int(shape.size()); ++k, ++to) {
    if (to == at) ++to;
    map.axes.push_back({0, {{to, 1}}});
  }
  map.shape = shape;
  map.shape.insert(map.shape.begin() + at, Expr(1));
  return b.window(value, map);
}

inline void assume_at_least(ProgramBuilder& b, const Expr& extent, int64_t least) {
  b.guard({{Relation::Le, Expr(least), extent}, "enough elements", false});
  b.facts().assume({Relation::Le, Expr(least), extent});
}

inline ProgramBuilder::Parameter parameter(ProgramBuilder& b, ValueId like) {
  ProgramBuilder::Parameter p{.type = b.type(like)};
  if (p.type.kind == ValueKind::View) p.strides = b.view_strides(like);
  return p;
}

}  // namespace ferrule::testing
