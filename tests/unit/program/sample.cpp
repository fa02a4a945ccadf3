#include "sample.h"

#include "ferrule/abi.h"

namespace ferrule::testing {

Program sample_program() {
  ProgramBuilder b("sample \"1\"");
  b.set_site(b.add_site({"file.py", 3, "f", "", -1}));
  const Expr n = extent(b, "N"), m = extent(b, "a.shape[1]");
  const Expr stride = Expr::symbol(b.symbols().add("k stride", SymbolKind::Stride, false));
  const ValueId a = array(b, "a", {n, m});
  const ValueId f = b.array_argument("b", DType::F32, {n, m}, {}, Layout::F, 0, false);
  const ValueId k = b.array_argument("k", DType::I64, {n}, {stride}, Layout::Any, 0, true);
  const ValueId inner = b.array_argument("inner", DType::U8, {n, 2 * n + 1}, {1, n}, Layout::Inner, 0, false);
  const ValueId count = b.scalar_argument("n", DType::I64, true);
  const ValueId w = b.scalar_argument("w", DType::F32, false);
  b.static_argument("flag", "'x\n'");
  b.argument(4).default_text = "3";
  b.argument(5).keyword_only = true;
  const Expr trips = Expr::symbol(b.argument(4).symbol);
  b.guard({{Relation::Le, Expr(2), n}, "a.shape[0] >= 2", true});
  b.guard({{Relation::Ne, m, Expr(7)}, "a.shape[1] != 7"});

  // Values of every kind.
  const ValueId table = b.constant_array("table", DType::I32, {2, 2}, {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0});
  const ValueId total = b.reduce(ReduceOp::sum, table, {0, 1}, std::nullopt);
  const ValueId upper = rows(b, a, 1, n - 1);
  ValueId x = apply(b, ElementOp::multiply, {upper, w});
  x = apply(b, ElementOp::add, {x, apply(b, ElementOp::multiply, {count, python_float(b, -0.5)})});
  x = apply(b, ElementOp::add, {x, b.reduce(ReduceOp::max, a, {0}, std::nullopt)});
  x = apply(b, ElementOp::select,
            {apply(b, ElementOp::isnan, {x}), b.fill(python_float(b, __builtin_nan("")), {n - 1, m}), x});
  x = apply(b, ElementOp::subtract, {x, apply(b, ElementOp::add, {b.iota({n - 1, m}, 1), b.size(n * m)})});
  b.store(rows(b, f, 0, n - 1), x);
  b.store(inner, apply(b, ElementOp::less, {total, count}));
  b.check(apply(b, ElementOp::less, {total, python_int(b, 100)}), FR_ERR_ASSERT);
  b.check({Relation::Le, trips, n}, FR_ERR_VALUE);

  // An element as an index.
  const ValueId first = b.load(b.window(k, {{}, {{Expr(0), {}}}}));
  const Expr at = Expr::symbol(b.symbolize(first, "row", true));
  b.check({Relation::Lt, at, n}, FR_ERR_INDEX);
  const ValueId row = b.window(a, {{m}, {{at, {}}, {Expr(0), {{0, 1}}}}});

  // Double buffering in a loop, a view of one of two arrays, a while.
  const ValueId other = b.alloc("other", DType::F64, {n, m});
  b.store(other, a);
  const ProgramBuilder::Parameter arrays[] = {
      {b.type(a), b.view_strides(a)}, {b.type(other), b.view_strides(other)}, {b.type(b.cast(total, DType::F64)), {}}};
  const std::vector<ValueId> p = b.open_region(arrays);
  const SymbolId step = b.symbols().add("step", SymbolKind::Loop, true);
  b.store(p[1], apply(b, ElementOp::add, {p[0], b.size(Expr::symbol(step))}));
  const ValueId sum = apply(b, ElementOp::add, {p[2], b.reduce(ReduceOp::sum, p[1], {0, 1}, std::nullopt)});
  Region body = b.close_region({p[1], p[0], sum});
  const std::vector<ValueId> after =
      b.for_loop(step, 0, trips, 1, {a, other, b.cast(total, DType::F64)}, std::move(body));

  const ProgramBuilder::Parameter number[] = {{b.type(after[2]), {}}};
  const std::vector<ValueId> tested = b.open_region(number);
  Region test = b.close_region({apply(b, ElementOp::greater, {tested[0], python_float(b, 1)})});
  const std::vector<ValueId> halved = b.open_region(number);
  Region half = b.close_region({apply(b, ElementOp::divide, {halved[0], python_int(b, 2)})});
  const ValueId small = b.while_loop({after[2]}, std::move(test), std::move(half))[0];

  b.open_region({});
  Region then_region = b.close_region({row, b.cast(w, DType::F64)});
  b.open_region({});
  const ValueId second = b.window(a, {{m}, {{Expr(1), {}}, {m - 1, {{0, -1}}}}});
  Region else_region = b.close_region({second, small});
  const std::vector<ValueId> joined =
      b.if_else(apply(b, ElementOp::less, {small, w}), std::move(then_region), std::move(else_region));
  b.open_region({});
  b.store(rows(b, a, 0, 1), python_int(b, 0));
  Region zero = b.close_region({});
  b.open_region({});
  Region nothing = b.close_region({});
  b.if_else(Condition{Relation::Lt, n, trips}, std::move(zero), std::move(nothing));

  // A reshape without a copy, a broadcast.
  const ValueId flat = b.reshape(a, {n * m});
  const ValueId wide = b.window(flat, {{3, n * m}, {{Expr(0), {{1, 1}}}}});
  b.result({ResultKind::Value, b.reduce(ReduceOp::prod, wide, {1}, DType::F32)});
  b.result({ResultKind::Value, joined[0]});
  b.result({ResultKind::Value, joined[1]});
  b.result({ResultKind::Value, flat});
  b.result({ResultKind::Argument, kNone, 1});
  b.result({ResultKind::None});
  b.set_returns_tuple(true);
  b.set_options(true, true);
  return b.finish();
}

}  // namespace ferrule::testing
