// Programs without control flow: what each array operation stores, and in what order where memory overlaps.
#include <gtest/gtest.h>

#include "harness.h"
#include "programs.h"

namespace ferrule::testing {
namespace {

Case elementwise_chain() {
  ProgramBuilder b("chain");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m}), c = array(b, "c", {n, m}), out = array(b, "out", {n, m});
  const ValueId w = b.scalar_argument("w", DType::F64, true);
  const ValueId x = apply(b, Op::multiply, {apply(b, Op::add, {a, c}), w});
  b.store(out,
          apply(b, Op::maximum, {apply(b, Op::sqrt, {apply(b, Op::square, {x})}), apply(b, Op::subtract, {x, c})}));
  Case result{"elementwise_chain", b.finish(), {}};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{3, 5}, {0, 4}, {1, 1}, {7, 33}}) {
    const size_t count = size_t(rows * columns);
    result.calls.push_back(
        {.pool = {bytes_of(numbers(count, 1)), bytes_of(numbers(count, 2)), bytes_of(numbers(count, 3))},
         .arrays = {dense(0, {rows, columns}), dense(1, {rows, columns}), dense(2, {rows, columns}), {}},
         .scalars = {0, 0, 0, std::bit_cast<uint64_t>(0.3)}});
  }
  return result;
}

// result = exp(row) + column, two results that share loads, returned.
Case broadcast_returned() {
  ProgramBuilder b("broadcast");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId row = array(b, "row", {m}), column = array(b, "column", {n});
  const ValueId sum = apply(b, Op::add, {expand(b, row, 0), expand(b, column, 1)});
  const ValueId product = apply(b, Op::multiply, {apply(b, Op::exp, {expand(b, row, 0)}), sum});
  b.result({.value = product});
  b.result({.value = sum});
  b.set_returns_tuple(true);
  Case result{"broadcast_returned", b.finish(), {}};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4, 6}, {0, 3}, {5, 0}, {1, 19}}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(columns), 1)), bytes_of(numbers(size_t(rows), 2))},
                            .arrays = {dense(0, {columns}), dense(1, {rows})}});
  }
  return result;
}

// The limited fourth-order diffusion: stencils of stencils through interior slices.
Case horizontal_diffusion(DType dtype) {
  ProgramBuilder b(dtype == DType::F64 ? "hdiff" : "hdiff32");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId field = array(b, "field", {n, m}, dtype), out = array(b, "out", {n, m}, dtype);
  assume_at_least(b, n, 4);
  assume_at_least(b, m, 4);
  const auto window = [&](ValueId v, int64_t top, int64_t left, const Expr& rows, const Expr& columns) {
    return slice(b, slice(b, v, 0, top, rows), 1, left, columns);
  };
  const auto load = [&](ValueId v) { return b.type(v).kind == ValueKind::View ? b.load(v) : v; };
  const auto f = [&](int64_t top, int64_t left, const Expr& rows, const Expr& columns) {
    return load(window(field, top, left, rows, columns));
  };
  const auto add = [&](ValueId x, ValueId y) { return apply(b, Op::add, {x, y}); };
  const auto sub = [&](ValueId x, ValueId y) { return apply(b, Op::subtract, {x, y}); };
  const auto mul = [&](ValueId x, ValueId y) { return apply(b, Op::multiply, {x, y}); };
  const Expr h = n - 2, w = m - 2;
  const ValueId lap =
      sub(add(add(add(f(2, 1, h, w), f(0, 1, h, w)), f(1, 2, h, w)), f(1, 0, h, w)), mul(real(b, 4), f(1, 1, h, w)));
  ValueId flux_x = sub(window(lap, 1, 1, h - 1, w - 2), window(lap, 0, 1, h - 1, w - 2));
  flux_x = apply(b, Op::select,
                 {apply(b, Op::greater, {mul(flux_x, sub(f(2, 2, n - 3, m - 4), f(1, 2, n - 3, m - 4))), real(b, 0)}),
                  real(b, 0), flux_x});
  ValueId flux_y = sub(window(lap, 1, 1, h - 2, w - 1), window(lap, 1, 0, h - 2, w - 1));
  flux_y = apply(b, Op::select,
                 {apply(b, Op::greater, {mul(flux_y, sub(f(2, 2, n - 4, m - 3), f(2, 1, n - 4, m - 3))), real(b, 0)}),
                  real(b, 0), flux_y});
  const ValueId change = sub(add(sub(window(flux_x, 1, 0, n - 4, m - 4), window(flux_x, 0, 0, n - 4, m - 4)),
                                 window(flux_y, 0, 1, n - 4, m - 4)),
                             window(flux_y, 0, 0, n - 4, m - 4));
  b.store(window(out, 2, 2, n - 4, m - 4), sub(f(2, 2, n - 4, m - 4), mul(real(b, 0.05), change)));
  Case result{dtype == DType::F64 ? "horizontal_diffusion" : "horizontal_diffusion_f32", b.finish(), {}};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{9, 12}, {4, 4}, {5, 40}}) {
    const size_t count = size_t(rows * columns);
    const std::vector<double> x = numbers(count, 5), y = numbers(count, 6);
    CallArgs args{.arrays = {dense(0, {rows, columns}), dense(1, {rows, columns})}};
    if (dtype == DType::F64)
      args.pool = {bytes_of(x), bytes_of(y)};
    else
      args.pool = {bytes_of(std::vector<float>(x.begin(), x.end())), bytes_of(std::vector<float>(y.begin(), y.end()))};
    result.calls.push_back(args);
  }
  return result;
}

// x[1:] = x[:-1] * 2 (distance 1), x[:-k] = x[k:] + 1, then x += x[::-1].
Case shifts_onto_itself(int64_t distance) {
  ProgramBuilder b("shift");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  const int64_t d = std::abs(distance);
  assume_at_least(b, n, d);
  const ValueId low = slice(b, x, 0, 0, n - d), high = slice(b, x, 0, d, n - d);
  const ValueId to = distance > 0 ? high : low, from = distance > 0 ? low : high;
  b.store(to, apply(b, Op::multiply, {apply(b, Op::add, {from, real(b, 1)}), real(b, 2)}));
  Case result{"shift_" + std::to_string(distance), b.finish(), {}};
  for (const int64_t size : {int64_t(41), d, d + 1, int64_t(100)}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 7))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

Case adds_its_reverse() {
  ProgramBuilder b("reverse");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n});
  b.store(x, apply(b, Op::add, {x, slice(b, x, 0, n - 1, n, -1)}));
  Case result{"adds_its_reverse", b.finish(), {}};
  for (const int64_t size : {0, 1, 2, 17, 64}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size), 8))}, .arrays = {dense(0, {size})}});
  }
  return result;
}

Case transposes_in_place() {
  ProgramBuilder b("square");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n, n});
  b.store(x, transpose(b, x));
  Case result{"transposes_in_place", b.finish(), {}};
  for (const int64_t size : {0, 1, 2, 9}) {
    result.calls.push_back({.pool = {bytes_of(numbers(size_t(size * size), 9))}, .arrays = {dense(0, {size, size})}});
  }
  return result;
}

// x[1:, :-1] = x[:-1, 1:]: distances of different signs on two axes; y gets what x was before.
Case skewed_shift() {
  ProgramBuilder b("skew");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId x = array(b, "x", {n, m}), y = array(b, "y", {n, m});
  assume_at_least(b, n, 1);
  assume_at_least(b, m, 1);
  const auto part = [&](int64_t top, int64_t left) { return slice(b, slice(b, x, 0, top, n - 1), 1, left, m - 1); };
  const ValueId before = b.load(x);
  b.store(part(1, 0), apply(b, Op::add, {part(0, 1), part(1, 0)}));
  b.store(y, before);
  Case result{"skewed_shift", b.finish(), {}};
  result.calls.push_back(
      {.pool = {bytes_of(numbers(54, 1)), bytes_of(numbers(54, 2))}, .arrays = {dense(0, {6, 9}), dense(1, {6, 9})}});
  result.calls.push_back(
      {.pool = {bytes_of(numbers(1, 1)), bytes_of(numbers(1, 2))}, .arrays = {dense(0, {1, 1}), dense(1, {1, 1})}});
  return result;
}

// out[:, :] = f(a) with a of another layout; an F-ordered and a strided argument.
Case layouts() {
  ProgramBuilder b("layouts");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const Expr s0 = Expr::symbol(b.symbols().add("s0", SymbolKind::Stride, false));
  const Expr s1 = Expr::symbol(b.symbols().add("s1", SymbolKind::Stride, false));
  const ValueId f = array(b, "f", {n, m}, DType::F64, Layout::F);
  const ValueId s = array(b, "s", {n, m}, DType::F64, Layout::Any, {s0, s1});
  const ValueId out = array(b, "out", {n, m}, DType::F64, Layout::F);
  b.store(out, apply(b, Op::add, {f, apply(b, Op::absolute, {s})}));
  b.result({.value = b.reduce(ReduceOp::sum, b.load(f), {1}, std::nullopt)});
  Case result{"layouts", b.finish(), {}};
  ArrayArg fortran{.memory = 0, .shape = {5, 7}, .strides = {1, 5}};
  ArrayArg strided{.memory = 1, .offset = 60, .shape = {5, 7}, .strides = {-14, 2}};
  ArrayArg target{.memory = 2, .shape = {5, 7}, .strides = {1, 5}};
  result.calls.push_back({.pool = {bytes_of(numbers(35, 1)), bytes_of(numbers(80, 2)), bytes_of(numbers(35, 3))},
                          .arrays = {fortran, strided, target}});
  return result;
}

Case reductions() {
  ProgramBuilder b("reductions");
  const Expr n = extent(b, "n"), m = extent(b, "m"), k = extent(b, "k");
  const ValueId a = array(b, "a", {n, m, k});
  const ValueId x = apply(b, Op::multiply, {b.load(a), b.load(a)});
  b.result({.value = b.reduce(ReduceOp::sum, x, {0, 1, 2}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, x, {0}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, x, {1}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::prod, x, {2}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, x, {0, 2}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, x, {0, 1}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::any, apply(b, Op::greater, {a, real(b, 3.9)}), {1, 2}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::all, apply(b, Op::greater, {a, real(b, -3)}), {0}, std::nullopt)});
  // Rows less their mean, a value used again after the reduction.
  const ValueId mean = apply(b, Op::divide, {b.reduce(ReduceOp::sum, b.load(a), {2}, std::nullopt), b.size(k)});
  const ValueId centred = apply(b, Op::subtract, {a, expand(b, mean, 2)});
  b.result({.value = b.reduce(ReduceOp::sum, apply(b, Op::square, {centred}), {2}, std::nullopt)});
  b.result({.value = centred});
  b.set_returns_tuple(true);
  Case result{"reductions", b.finish(), {}};
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3, 4, 5}, {2, 1, 70}, {40, 3, 2}, {0, 2, 3}, {2, 3, 0}}) {
    result.calls.push_back(
        {.pool = {bytes_of(numbers(size_t(shape[0] * shape[1] * shape[2]), 4))}, .arrays = {dense(0, shape)}});
  }
  return result;
}

Case extremes() {
  ProgramBuilder b("extremes");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m}, DType::I32);
  assume_at_least(b, n, 1);
  assume_at_least(b, m, 1);
  b.result({.value = b.reduce(ReduceOp::max, b.load(a), {0}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::min, b.load(a), {1}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::max, b.load(a), {0, 1}, std::nullopt)});
  b.result({.value = b.reduce(ReduceOp::sum, b.load(a), {0, 1}, std::nullopt)});
  Case result{"extremes", b.finish(), {}};
  std::vector<int32_t> values;
  for (const double x : numbers(77, 3)) values.push_back(int32_t(x * 1000));
  result.calls.push_back({.pool = {bytes_of(values)}, .arrays = {dense(0, {7, 11})}});
  return result;
}

// float32 and integers: casts on the way, integer division, comparison, a constant array, iota.
Case mixed_dtypes() {
  ProgramBuilder b("mixed");
  const Expr n = extent(b, "n");
  const ValueId x = array(b, "x", {n}, DType::F32), k = array(b, "k", {n}, DType::I32),
                flags = array(b, "flags", {n}, DType::Bool);
  const ValueId table =
      b.constant_array("table", DType::F32, {4}, bytes_of(std::vector<float>{1.5f, -2.25f, 0.f, 1e-3f}));
  const ValueId third = pick(b, table, 0, 1);
  const ValueId y = apply(b, Op::select, {flags, apply(b, Op::multiply, {x, b.load(third)}), x});
  b.store(x, y);
  b.store(k, apply(b, Op::add, {apply(b, Op::floor_divide, {k, integer(b, 3)}), b.cast(b.iota({n}, 0), DType::I32)}));
  b.store(flags, apply(b, Op::logical_or, {apply(b, Op::less, {k, integer(b, 5)}), apply(b, Op::isnan, {y})}));
  b.result({.value = apply(b, Op::divide, {k, x})});
  b.result({.value = b.fill(b.size(n * 2 + 1), {n, Expr(2)})});
  b.set_returns_tuple(true);
  Case result{"mixed_dtypes", b.finish(), {}};
  for (const int64_t size : {0, 3, 37}) {
    const std::vector<double> v = numbers(size_t(size), 11);
    std::vector<int32_t> integers;
    std::vector<uint8_t> bools;
    for (const double value : v) integers.push_back(int32_t(value * 10)), bools.push_back(value > 0);
    result.calls.push_back({.pool = {bytes_of(std::vector<float>(v.begin(), v.end())), bytes_of(integers), bools},
                            .arrays = {dense(0, {size}), dense(1, {size}), dense(2, {size})}});
  }
  return result;
}

Case views_returned() {
  ProgramBuilder b("views");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m});
  assume_at_least(b, n, 2);
  b.store(pick(b, a, 0, 1), real(b, 7));
  b.result({.value = transpose(b, slice(b, a, 0, n - 1, n, -1))});
  b.result({.kind = ResultKind::Argument, .argument = 0});
  b.result({.value = pick(b, a, 0, n - 1)});
  b.result({.kind = ResultKind::None});
  b.result({.value = b.reshape(a, {n * m})});
  b.set_returns_tuple(true);
  Case result{"views_returned", b.finish(), {}};
  result.calls.push_back({.pool = {bytes_of(numbers(12, 1))}, .arrays = {dense(0, {3, 4})}});
  return result;
}

// zeros, filled through windows, returned as it stands; a reshape that needs a copy.
Case allocated_and_returned() {
  ProgramBuilder b("allocated");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m});
  assume_at_least(b, n, 2);
  const ValueId out = b.alloc("out", DType::F64, {n, m});
  b.store(out, real(b, 0));
  b.store(slice(b, out, 0, 1, n - 2), apply(b, Op::add, {slice(b, a, 0, 0, n - 2), slice(b, a, 0, 2, n - 2)}));
  const ValueId flat = b.reshape(b.load(transpose(b, a)), {n * m});
  b.result({.value = b.load(out)});
  b.result({.value = apply(b, Op::negative, {flat})});
  b.result({.value = b.load(out)});
  b.set_returns_tuple(true);
  Case result{"allocated_and_returned", b.finish(), {}};
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 3}, {2, 0}, {2, 8}}) {
    result.calls.push_back(
        {.pool = {bytes_of(numbers(size_t(rows * columns), 2))}, .arrays = {dense(0, {rows, columns})}});
  }
  return result;
}

// The version that is right for every overlap: out may be a shifted view of a.
Case overlapping_arguments() {
  ProgramBuilder b("overlapping");
  const Expr n = extent(b, "n");
  const ValueId a = array(b, "a", {n}), out = array(b, "out", {n});
  b.set_options(true, true);
  b.store(out, apply(b, Op::multiply, {apply(b, Op::add, {a, real(b, 1)}), real(b, 0.5)}));
  Case result{"overlapping_arguments", b.finish(), {}};
  for (const int64_t shift : {-3, -1, 0, 1, 2, 40}) {
    ArrayArg x = dense(0, {33}), y = dense(0, {33});
    x.offset = 5, y.offset = 5 + shift;
    result.calls.push_back({.pool = {bytes_of(numbers(90, 3))}, .arrays = {x, y}});
  }
  return result;
}

TEST(ArrayPrograms, AgreeWithTheEvaluator) {
  std::vector<Case> cases;
  cases.push_back(elementwise_chain());
  cases.push_back(broadcast_returned());
  cases.push_back(horizontal_diffusion(DType::F64));
  cases.push_back(horizontal_diffusion(DType::F32));
  for (const int64_t distance : {1, -1, 5, -5}) cases.push_back(shifts_onto_itself(distance));
  cases.push_back(adds_its_reverse());
  cases.push_back(transposes_in_place());
  cases.push_back(skewed_shift());
  cases.push_back(layouts());
  cases.push_back(views_returned());
  cases.push_back(allocated_and_returned());
  cases.push_back(overlapping_arguments());
  expect_agree(cases);
}

TEST(ArrayPrograms, ReductionsAndDtypesAgreeWithTheEvaluator) {
  std::vector<Case> cases;
  cases.push_back(reductions());
  cases.push_back(extremes());
  cases.push_back(mixed_dtypes());
  expect_agree(cases, false);
}

}  // namespace
}  // namespace ferrule::testing
