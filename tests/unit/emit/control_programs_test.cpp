// Programs with loops, branches and carried values.
#include <gtest/gtest.h>

#include "harness.h"
#include "programs.h"

namespace ferrule::testing {
namespace {

SymbolId loop_variable(ProgramBuilder& b, const std::string& name, const Expr& lo, const Expr& hi) {
  const SymbolId variable = b.symbols().add(name, SymbolKind::Loop, false);
  b.facts().push();
  b.facts().assume_loop(variable, lo, hi);
  return variable;
}

// for steps: b[1:-1] = smoothed a; a, b = b, a. Returns what a then is.
Case time_loop_with_swap() {
  ProgramBuilder b("swap");
  const Expr n = extent(b, "n");
  const ValueId u = array(b, "u", {n}), v = array(b, "v", {n});
  b.scalar_argument("steps", DType::I64, true);
  assume_at_least(b, n, 2);
  const Expr count = Expr::symbol(b.program().arguments[2].symbol);
  const SymbolId t = loop_variable(b, "t", 0, count);
  const std::vector<ProgramBuilder::Parameter> types = {parameter(b, u), parameter(b, v)};
  const std::vector<ValueId> p = b.open_region(types);
  const auto part = [&](ValueId x, int64_t at) { return slice(b, x, 0, at, n - 2); };
  b.store(part(p[1], 1),
          apply(b, Op::multiply,
                {apply(b, Op::add, {apply(b, Op::add, {part(p[0], 0), part(p[0], 1)}), part(p[0], 2)}), real(b, 0.3)}));
  Region body = b.close_region({p[1], p[0]});
  b.facts().pop();
  const std::vector<ValueId> last = b.for_loop(t, 0, count, 1, {u, v}, std::move(body));
  b.result({.value = b.load(last[0])});
  Case result{"time_loop_with_swap", b.finish(), {}};
  for (const int64_t trips : {0, 1, 2, 5}) {
    result.calls.push_back({.pool = {bytes_of(numbers(23, 1)), bytes_of(numbers(23, 2))},
                            .arrays = {dense(0, {23}), dense(1, {23}), {}},
                            .scalars = {0, 0, uint64_t(trips)}});
  }
  return result;
}

// for i, j: x[i, j] = (x[i-1, j] + x[i, j-1] + x[i, j]) / 3, element after element.
Case gauss_seidel() {
  ProgramBuilder b("seidel");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId x = array(b, "x", {n, m});
  const SymbolId i = loop_variable(b, "i", 1, n);
  b.open_region({});
  const SymbolId j = loop_variable(b, "j", 1, m);
  b.open_region({});
  const auto at = [&](const Expr& row, const Expr& column) { return pick(b, pick(b, x, 1, column), 0, row); };
  const Expr I = Expr::symbol(i), J = Expr::symbol(j);
  const ValueId sum = apply(b, Op::add, {apply(b, Op::add, {at(I - 1, J), at(I, J - 1)}), at(I, J)});
  b.store(at(I, J), apply(b, Op::divide, {sum, real(b, 3)}));
  Region inner = b.close_region({});
  b.facts().pop();
  b.for_loop(j, 1, m, 1, {}, std::move(inner));
  Region outer = b.close_region({});
  b.facts().pop();
  b.for_loop(i, 1, n, 1, {}, std::move(outer));
  Case result{"gauss_seidel", b.finish(), {}};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{6, 7}, {1, 5}, {0, 0}}) {
    result.calls.push_back(
        {.pool = {bytes_of(numbers(size_t(rows * columns), 4))}, .arrays = {dense(0, {rows, columns})}});
  }
  return result;
}

// Scalars that trade places: f, g = g, f + g; and a running sum over rows downwards.
Case carried_scalars() {
  ProgramBuilder b("scalars");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  const SymbolId i = loop_variable(b, "i", 0, n);
  const ValueId zero = b.constant(DType::F64, 0, false),
                one = b.constant(DType::F64, std::bit_cast<uint64_t>(1.0), false);
  const ValueId sum =
      b.cast(b.load(pick(b, b.constant_array("start", DType::F64, {1}, bytes_of(std::vector<double>{2.5})), 0, 0)),
             DType::F64);
  const std::vector<ProgramBuilder::Parameter> types = {parameter(b, zero), parameter(b, one), parameter(b, sum)};
  const std::vector<ValueId> p = b.open_region(types);
  const ValueId element = b.load(pick(b, x, 0, Expr::symbol(i)));
  const ValueId next = apply(b, Op::add, {p[2], apply(b, Op::multiply, {element, p[0]})});
  Region body = b.close_region({p[1], apply(b, Op::add, {p[0], p[1]}), next});
  b.facts().pop();
  const std::vector<ValueId> last = b.for_loop(i, n - 1, -1, -1, {zero, one, sum}, std::move(body));
  b.result({.value = last[0]});
  b.result({.value = last[2]});
  b.set_returns_tuple(true);
  Case result{"carried_scalars", b.finish(), {}};
  for (const int64_t size : {0, 1, 12}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 5))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

// Array values carried: y = y * 0.5 + roll; returned, with a scalar that counts.
Case carried_arrays() {
  ProgramBuilder b("arrays");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  assume_at_least(b, n, 1);
  const ValueId start = apply(b, Op::add, {x, real(b, 1)}), other = apply(b, Op::negative, {x});
  const SymbolId t = loop_variable(b, "t", 0, 5);
  const std::vector<ProgramBuilder::Parameter> types = {parameter(b, start), parameter(b, other)};
  const std::vector<ValueId> p = b.open_region(types);
  const ValueId reversed = slice(b, p[0], 0, n - 1, n, -1);
  const ValueId next = apply(b, Op::add, {apply(b, Op::multiply, {p[1], real(b, 0.5)}), reversed});
  Region body = b.close_region({next, p[0]});
  b.facts().pop();
  const std::vector<ValueId> last = b.for_loop(t, 0, 5, 1, {start, other}, std::move(body));
  b.result({.value = last[0]});
  b.result({.value = apply(b, Op::multiply, {last[1], last[0]})});
  b.set_returns_tuple(true);
  Case result{"carried_arrays", b.finish(), {}};
  for (const int64_t size : {1, 2, 31}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 6))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

// Memory made in each iteration and carried to the next by reference: it must not be the memory that is still looked
// at.
Case allocates_and_carries() {
  ProgramBuilder b("rotation");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  assume_at_least(b, n, 1);
  const ValueId first = b.alloc("first", DType::F64, {n}), second = b.alloc("second", DType::F64, {n});
  b.store(first, x);
  b.store(second, real(b, 1));
  const SymbolId t = loop_variable(b, "t", 0, 6);
  const std::vector<ProgramBuilder::Parameter> types = {parameter(b, first), parameter(b, second)};
  const std::vector<ValueId> p = b.open_region(types);
  const ValueId fresh = b.alloc("fresh", DType::F64, {n});
  b.store(fresh, apply(b, Op::add, {p[0], apply(b, Op::multiply, {slice(b, p[1], 0, n - 1, n, -1), real(b, 0.25)})}));
  Region body = b.close_region({fresh, p[0]});
  b.facts().pop();
  const std::vector<ValueId> last = b.for_loop(t, 0, 6, 1, {first, second}, std::move(body));
  b.result({.value = b.load(last[0])});
  b.result({.value = b.load(last[1])});
  b.set_returns_tuple(true);
  Case result{"allocates_and_carries", b.finish(), {}};
  for (const int64_t size : {1, 2, 19, 1000}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 7))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

// while s > limit: s = s / 2, x *= 0.5.
Case while_loop() {
  ProgramBuilder b("halve");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  const ValueId limit = b.scalar_argument("limit", DType::F64, false);
  const ValueId start = b.reduce(ReduceOp::sum, apply(b, Op::absolute, {x}), {0}, std::nullopt);
  const std::vector<ProgramBuilder::Parameter> types = {parameter(b, start)};
  const ValueId in_test = b.open_region(types)[0];
  Region test = b.close_region({apply(b, Op::greater, {in_test, limit})});
  b.open_region(types);
  b.store(x, apply(b, Op::multiply, {x, real(b, 0.5)}));
  const ValueId again = b.reduce(ReduceOp::sum, apply(b, Op::absolute, {x}), {0}, std::nullopt);
  Region body = b.close_region({again});
  const std::vector<ValueId> last = b.while_loop({start}, std::move(test), std::move(body));
  b.result({.value = last[0]});
  Case result{"while_loop", b.finish(), {}};
  for (const double value : {0.5, 1e9}) {
    result.calls.push_back({.pool = {bytes_of(numbers(14, 8))},
                            .arrays = {dense(0, {14}), {}},
                            .scalars = {0, std::bit_cast<uint64_t>(value)}});
  }
  return result;
}

// A branch on data and one on sizes; views, arrays and scalars joined, then written through.
Case branches() {
  ProgramBuilder b("branches");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n}), y = array(b, "y", {n});
  assume_at_least(b, n, 1);
  const ValueId flag = apply(b, Op::greater, {pick(b, x, 0, 0), real(b, 0)});
  b.open_region({});
  const ValueId doubled = apply(b, Op::multiply, {x, real(b, 2)});
  Region then_region = b.close_region({x, doubled, b.constant(DType::F64, std::bit_cast<uint64_t>(1.5), false)});
  b.open_region({});
  Region else_region = b.close_region({y, b.load(y), b.load(pick(b, y, 0, 0))});
  const std::vector<ValueId> joined = b.if_else(flag, std::move(then_region), std::move(else_region));
  b.store(joined[0], apply(b, Op::add, {joined[1], joined[2]}));
  b.open_region({});
  b.store(y, real(b, -1));
  Region small = b.close_region({});
  b.open_region({});
  Region large = b.close_region({});
  b.if_else(Condition{Relation::Lt, n, 4}, std::move(small), std::move(large));
  b.result({.value = joined[1]});
  b.result({.value = joined[2]});
  b.set_returns_tuple(true);
  Case result{"branches", b.finish(), {}};
  for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
    const int64_t size = seed < 3 ? 3 : 20;
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), seed)), bytes_of(numbers(size_t(size), seed + 10))},
                            .arrays = {dense(0, {size}), dense(1, {size})}});
  }
  return result;
}

// An index that is data: checked, then used; and a row update that reads another row.
Case indexed_rows() {
  ProgramBuilder b("rows");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m}), which = array(b, "which", {n}, DType::I64);
  const SymbolId i = loop_variable(b, "i", 0, n);
  b.open_region({});
  const ValueId index = b.load(pick(b, which, 0, Expr::symbol(i)));
  const Expr k = Expr::symbol(b.symbolize(index, "k", false));
  b.check(Condition{Relation::Le, 0, k}, FR_ERR_INDEX);
  b.check(Condition{Relation::Lt, k, n}, FR_ERR_INDEX);
  const ValueId row = pick(b, a, 0, Expr::symbol(i));
  b.store(row, apply(b, Op::add, {apply(b, Op::multiply, {row, real(b, 0.5)}), pick(b, a, 0, k)}));
  Region body = b.close_region({});
  b.facts().pop();
  b.for_loop(i, 0, n, 1, {}, std::move(body));
  Case result{"indexed_rows", b.finish(), {}};
  for (const std::vector<int64_t>& rows : {std::vector<int64_t>{2, 0, 1}, {0, 1, 2}, {1, 3, 0}, {0, -1, 0}}) {
    result.calls.push_back(
        {.pool = {bytes_of(numbers(27, 9)), bytes_of(rows)}, .arrays = {dense(0, {3, 9}), dense(1, {3})}});
  }
  return result;
}

// Triangular work: for i: x[i, i+1:] -= x[i, i] * x[:n-1-i, 0], with temporaries whose size the loop changes.
Case triangular() {
  ProgramBuilder b("triangular");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n, n});
  const SymbolId i = loop_variable(b, "i", 0, n);
  b.open_region({});
  const Expr I = Expr::symbol(i);
  const ValueId row = slice(b, pick(b, x, 0, I), 0, I + 1, n - 1 - I);
  const ValueId column = slice(b, pick(b, x, 1, 0), 0, 0, n - 1 - I);
  const ValueId product = apply(b, Op::multiply, {column, pick(b, pick(b, x, 0, I), 0, I)});
  b.store(row, apply(b, Op::subtract, {row, product}));
  b.store(pick(b, pick(b, x, 0, I), 0, I), b.reduce(ReduceOp::sum, product, {0}, std::nullopt));
  Region body = b.close_region({});
  b.facts().pop();
  b.for_loop(i, 0, n, 1, {}, std::move(body));
  Case result{"triangular", b.finish(), {}};
  for (const int64_t size : {0, 1, 2, 8}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size * size), 10))}, .arrays = {dense(0, {size, size})}});
  }
  return result;
}

// A size that only the run knows: a result of that length, and a temporary of it used twice.
Case size_from_data() {
  ProgramBuilder b("dynamic");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  const ValueId count = b.reduce(ReduceOp::sum, apply(b, Op::greater, {x, real(b, 0)}), {0}, std::nullopt);
  const Expr k = Expr::symbol(b.symbolize(count, "k", true));
  b.check(Condition{Relation::Le, k, n}, FR_ERR_INDEX);
  const ValueId head = b.load(slice(b, x, 0, 0, k));
  const ValueId squares = apply(b, Op::square, {head});
  const ValueId made = b.alloc("made", DType::F64, {k});
  b.store(made, apply(b, Op::subtract, {squares, b.reduce(ReduceOp::sum, squares, {0}, std::nullopt)}));
  b.result({.value = apply(b, Op::add, {made, slice(b, b.load(made), 0, k - 1, k, -1)})});
  b.result({.value = b.load(made)});
  b.set_returns_tuple(true);
  Case result{"size_from_data", b.finish(), {}};
  for (const int64_t size : {0, 1, 25}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 11))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

// Halving: each iteration keeps every other row, so that extents and strides change with what is carried, as an array
// value and as a view.
Case changing_shapes() {
  ProgramBuilder b("halving");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId x = array(b, "x", {n, m});
  const ValueId start = apply(b, Op::add, {x, real(b, 1)});
  const Expr rows = Expr::symbol(b.symbols().add("rows", SymbolKind::Opaque, true));
  const Expr kept = Expr::symbol(b.symbols().add("kept", SymbolKind::Opaque, true));
  const Expr stride = Expr::symbol(b.symbols().add("stride", SymbolKind::Opaque, false));
  const SymbolId t = loop_variable(b, "t", 0, 3);
  ProgramBuilder::Parameter value{.type = {.kind = ValueKind::Array, .dtype = DType::F64, .shape = {rows, m}}};
  ProgramBuilder::Parameter view{.type = {.kind = ValueKind::View, .dtype = DType::F64, .shape = {kept, m}},
                                 .strides = {stride, 1}};
  const std::vector<ProgramBuilder::Parameter> types = {value, view};
  const std::vector<ValueId> p = b.open_region(types);
  const ValueId half = slice(b, p[0], 0, 0, floordiv(rows, 2), 2);
  const ValueId next = apply(b, Op::multiply, {half, real(b, 3)});
  const ValueId tail = slice(b, p[1], 0, 0, floordiv(kept + 1, 2), 2);
  b.store(tail, apply(b, Op::add, {tail, real(b, 10)}));
  Region body = b.close_region({next, tail});
  b.facts().pop();
  const std::vector<ValueId> last = b.for_loop(t, 0, 3, 1, {start, x}, std::move(body));
  b.result({.value = b.reduce(ReduceOp::sum, last[0], {0, 1}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, b.load(last[1]), {0, 1}, std::nullopt)});
  b.result({.value = last[0]});
  b.set_returns_tuple(true);
  Case result{"changing_shapes", b.finish(), {}};
  for (const int64_t size : {0, 1, 7, 16}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size * 3), 12))}, .arrays = {dense(0, {size, 3})}});
  }
  return result;
}

// Arrays and views of other extents from two branches: the pairs that agree have one size behind them.
Case branch_shapes() {
  ProgramBuilder b("branch_shapes");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  assume_at_least(b, n, 2);
  const ValueId flag = apply(b, Op::greater, {pick(b, x, 0, 0), real(b, 0)});
  b.open_region({});
  const ValueId rest = slice(b, x, 0, 1, n - 1, 1);
  Region then_region = b.close_region({apply(b, Op::multiply, {rest, real(b, 2)}), b.load(rest), rest});
  b.open_region({});
  const ValueId half = slice(b, x, 0, 0, floordiv(n, 2), 2);
  Region else_region = b.close_region({apply(b, Op::negative, {half}), b.load(half), half});
  const std::vector<ValueId> joined = b.if_else(flag, std::move(then_region), std::move(else_region));
  b.store(joined[2], apply(b, Op::add, {joined[0], joined[1]}));
  b.result({.value = joined[0]});
  b.result({.value = b.reduce(ReduceOp::sum, joined[1], {0}, std::nullopt)});
  b.set_returns_tuple(true);
  Case result{"branch_shapes", b.finish(), {}};
  for (const uint32_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    const int64_t size = seed < 4 ? 2 : 11;
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), seed))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

TEST(ControlPrograms, AgreeWithTheEvaluator) {
  std::vector<Case> cases;
  cases.push_back(time_loop_with_swap());
  cases.push_back(gauss_seidel());
  cases.push_back(carried_scalars());
  cases.push_back(carried_arrays());
  cases.push_back(allocates_and_carries());
  cases.push_back(while_loop());
  cases.push_back(branches());
  cases.push_back(indexed_rows());
  cases.push_back(triangular());
  cases.push_back(size_from_data());
  cases.push_back(changing_shapes());
  cases.push_back(branch_shapes());
  expect_agree(cases);
}

}  // namespace
}  // namespace ferrule::testing
