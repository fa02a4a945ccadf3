// The reference evaluator on small programs with known answers.
#include "program/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "sample.h"

namespace ferrule {
namespace {

using testing::apply;
using testing::array;
using testing::extent;
using testing::python_int;
using testing::rows;

EvalArray over(std::vector<double>& data) { return {data.data(), {static_cast<int64_t>(data.size())}, {1}}; }

template <class T>
std::vector<T> values_of(const EvalResult& result) {
  std::vector<T> values(result.bytes.size() / sizeof(T));
  std::memcpy(values.data(), result.bytes.data(), result.bytes.size());
  return values;
}

TEST(Evaluate, StoresReadTheirRightSideFirst) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  b.store(rows(b, a, 1, n - 1), rows(b, a, 0, n - 1));
  std::vector<double> data = {0, 1, 2, 3, 4, 5};
  evaluate(b.finish(), {over(data)}, {0});
  EXPECT_EQ(data, (std::vector<double>{0, 0, 1, 2, 3, 4}));
}

TEST(Evaluate, ReductionsOfNothing) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")});
  b.result({ResultKind::Value, b.reduce(ReduceOp::sum, a, {0}, std::nullopt)});
  b.result({ResultKind::Value, b.reduce(ReduceOp::prod, a, {0}, std::nullopt)});
  b.result({ResultKind::Value, b.reduce(ReduceOp::all, a, {0}, std::nullopt)});
  std::vector<double> data;
  const EvalOutcome outcome = evaluate(b.finish(), {over(data)}, {0});
  EXPECT_EQ(values_of<double>(outcome.results[0])[0], 0);
  EXPECT_EQ(values_of<double>(outcome.results[1])[0], 1);
  EXPECT_EQ(outcome.results[2].bytes[0], 1);
}

TEST(Evaluate, ASumOfNegativeZerosIsZero) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")});
  b.result({ResultKind::Value, b.reduce(ReduceOp::sum, a, {0}, std::nullopt)});
  const Program program = b.finish();
  for (const size_t n : {1, 3, 40}) {
    std::vector<double> data(n, -0.0);
    EXPECT_FALSE(std::signbit(values_of<double>(evaluate(program, {over(data)}, {0}).results[0])[0])) << n;
  }
}

// Two arrays change places in each step: the swap reaches the arguments by reference.
TEST(Evaluate, ViewsAreCarriedByReference) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId x = array(b, "x", {n}), y = array(b, "y", {n});
  const ValueId count = b.scalar_argument("steps", DType::I64, true);
  const ProgramBuilder::Parameter both[] = {{b.type(x), b.view_strides(x)}, {b.type(y), b.view_strides(y)}};
  const std::vector<ValueId> p = b.open_region(both);
  b.store(p[1], apply(b, ElementOp::add, {p[0], python_int(b, 1)}));
  Region body = b.close_region({p[1], p[0]});
  const SymbolId i = b.symbols().add("i", SymbolKind::Loop, true);
  const std::vector<ValueId> end = b.for_loop(i, 0, Expr::symbol(b.argument(2).symbol), 1, {x, y}, std::move(body));
  b.result({ResultKind::Value, end[0]});
  static_cast<void>(count);
  const Program program = b.finish();
  for (const int64_t steps : {0, 1, 2, 5}) {
    std::vector<double> first = {10, 20}, second = {-1, -1};
    const EvalOutcome outcome =
        evaluate(program, {over(first), over(second), {}}, {0, 0, static_cast<uint64_t>(steps)});
    EXPECT_EQ(outcome.results[0].argument, static_cast<int>(steps % 2));
    EXPECT_TRUE(outcome.results[0].is_view);
    const std::vector<double>& last = steps % 2 == 0 ? first : second;
    EXPECT_EQ(last[0], 10 + static_cast<double>(steps));
  }
}

// An array that shrinks in a loop: its extent is a symbol that travels with the view.
TEST(Evaluate, ExtentsTravelWithCarriedViews) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  const Expr left = Expr::symbol(b.symbols().add("left", SymbolKind::Opaque, true));
  ValueType type = b.type(a);
  type.shape = {left};
  const ProgramBuilder::Parameter shrinking[] = {{type, {1}}};
  const std::vector<ValueId> p = b.open_region(shrinking);
  b.store(rows(b, p[0], 0, 1), b.size(left));
  Region body = b.close_region({rows(b, p[0], 1, left - 1)});
  const ValueId rest = b.for_loop(b.symbols().add("i", SymbolKind::Loop, true), 0, 2, 1, {a}, std::move(body))[0];
  b.result({ResultKind::Value, b.size(left)});
  b.result({ResultKind::Value, b.reduce(ReduceOp::sum, rest, {0}, std::nullopt)});
  std::vector<double> data = {0, 0, 7, 8, 9};
  const EvalOutcome outcome = evaluate(b.finish(), {over(data)}, {0});
  EXPECT_EQ(data, (std::vector<double>{5, 4, 7, 8, 9}));
  EXPECT_EQ(values_of<int64_t>(outcome.results[0])[0], 3);
  EXPECT_EQ(values_of<double>(outcome.results[1])[0], 24);
}

TEST(Evaluate, BranchesJoinViews) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  const ValueId forward = a, backward = b.window(a, {{n}, {{n - 1, {{0, -1}}}}});
  const ValueId choice = b.scalar_argument("choice", DType::Bool, false);
  b.open_region({});
  Region then_region = b.close_region({forward});
  b.open_region({});
  Region else_region = b.close_region({backward});
  const ValueId joined = b.if_else(choice, std::move(then_region), std::move(else_region))[0];
  b.store(joined, b.cast(b.iota({n}, 0), DType::F64));
  const Program program = b.finish();
  std::vector<double> data(3, -1);
  evaluate(program, {over(data), {}}, {0, 1});
  EXPECT_EQ(data, (std::vector<double>{0, 1, 2}));
  evaluate(program, {over(data), {}}, {0, 0});
  EXPECT_EQ(data, (std::vector<double>{2, 1, 0}));
}

TEST(Evaluate, ReshapedViewsReachTheirBase) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {6 * n});
  const ValueId cube = b.reshape(a, {3, n, 2});
  b.store(b.window(cube, {{3, n}, {{Expr(0), {{0, 1}}}, {Expr(0), {{1, 1}}}, {Expr(1), {}}}}), python_int(b, 7));
  std::vector<double> data(12, 0);
  evaluate(b.finish(), {over(data)}, {0});
  for (size_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i], i % 2 == 1 ? 7 : 0) << i;
}

TEST(Evaluate, ChecksTrapWithTheirSite) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  b.set_site(b.add_site({"user.py", 4, "f", "assert"}));
  b.check(apply(b, ElementOp::less, {b.reduce(ReduceOp::sum, a, {0}, std::nullopt), python_int(b, 3)}), FR_ERR_ASSERT);
  b.store(a, python_int(b, 0));
  const Program program = b.finish();
  std::vector<double> data = {1, 5};
  const EvalOutcome outcome = evaluate(program, {over(data)}, {0});
  ASSERT_TRUE(outcome.trap.has_value());
  EXPECT_EQ(outcome.trap->code, FR_ERR_ASSERT);
  EXPECT_EQ(program.sites[outcome.trap->site].line, 4);
  EXPECT_EQ(data[0], 1);
}

TEST(Evaluate, ArgumentsMustFitTheProgram) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n}), c = array(b, "c", {n});
  b.guard({{Relation::Le, Expr(2), n}, "a.shape[0] >= 2"});
  b.store(a, c);
  const Program program = b.finish();
  std::vector<double> two(2), three(3), one(1);
  EXPECT_THROW(evaluate(program, {over(two), over(three)}, {0, 0}), Error);
  EXPECT_THROW(evaluate(program, {over(one), over(one)}, {0, 0}), Error);
  EvalArray strided = over(three);
  strided.shape = {2};
  strided.strides = {2};
  EXPECT_THROW(evaluate(program, {over(two), strided}, {0, 0}), Error);
  EXPECT_NO_THROW(evaluate(program, {over(two), over(two)}, {0, 0}));
}

TEST(Evaluate, ArraysBeyondAllMemoryAreTraps) {
  ProgramBuilder b("p");
  const ValueId n = b.scalar_argument("n", DType::I64, true);
  const Expr size = Expr::symbol(b.symbolize(n, "N", true));
  const ValueId filled = b.fill(python_int(b, 1), {size});
  b.result({ResultKind::Value, b.reduce(ReduceOp::sum, filled, {0}, std::nullopt)});
  const Program program = b.finish();
  for (const auto& [extent, bytes] : {std::pair{int64_t{1} << 57, int64_t{1} << 60},
                                      {int64_t{1} << 60, int64_t{-1}},
                                      {int64_t{1} << 61, int64_t{-1}}}) {
    const EvalOutcome outcome = evaluate(program, {{}}, {static_cast<uint64_t>(extent)});
    ASSERT_TRUE(outcome.trap);
    EXPECT_EQ(outcome.trap->code, FR_ERR_MEMORY);
    EXPECT_EQ(outcome.trap->values[0], bytes);
  }
}

TEST(Evaluate, AccessesOutsideOfMemoryAreFound) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  b.store(rows(b, a, 1, n), python_int(b, 1));
  std::vector<double> data(3);
  EXPECT_THROW(evaluate(b.finish(), {over(data)}, {0}), Error);
}

}  // namespace
}  // namespace ferrule
