// What the builder inserts, refuses, shares and normalises.
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "program/program_text.h"
#include "sample.h"

namespace ferrule {
namespace {

using testing::apply;
using testing::array;
using testing::extent;
using testing::python_float;
using testing::python_int;
using testing::rows;

Error error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return internal_error("nothing was thrown");
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(IndexMap, ThenComposes) {
  // 10 - 2*i of an axis, then i = 1 + 3*j: 8 - 6*j.
  const IndexMap inner{{5}, {{Expr(10), {{0, -2}}}}};
  const IndexMap outer{{2}, {{Expr(1), {{0, 3}}}}};
  const IndexMap both = inner.then(outer);
  EXPECT_EQ(both.shape, std::vector<Expr>{2});
  EXPECT_EQ(both.axes[0].start, Expr(8));
  EXPECT_EQ(both.axes[0].terms[0].step, Expr(-6));
}

TEST(IndexMap, DiagonalAddsItsSteps) {
  const IndexMap square = IndexMap::identity({4, 4});
  const IndexMap diagonal{{4}, {{Expr(0), {{0, 1}}}, {Expr(0), {{0, 1}}}}};
  const IndexMap both = square.then(diagonal);
  EXPECT_EQ(both.axes[0].terms.size(), 1u);
  EXPECT_EQ(both.axes[1].terms[0].axis, 0);
  EXPECT_FALSE(both.is_identity({4, 4}));
  EXPECT_TRUE(square.is_identity({4, 4}));
}

TEST(Builder, CastsAndBroadcastsOperands) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N"), m = extent(b, "M");
  const ValueId a = array(b, "a", {n, m}, DType::F32), row = array(b, "row", {m}, DType::I64);
  const ValueId sum = apply(b, ElementOp::add, {a, row});
  EXPECT_EQ(b.type(sum).dtype, DType::F64);
  EXPECT_EQ(b.type(sum).shape, (std::vector<Expr>{n, m}));
  b.result({ResultKind::Value, sum});
  const std::string text = print(b.finish());
  EXPECT_TRUE(contains(text, "cast %2 : f64[N, M]")) << text;
  EXPECT_TRUE(contains(text, "remap %5[$1] : f64[N, M]")) << text;
}

TEST(Builder, ScalarsGiveScalars) {
  ProgramBuilder b("p");
  const ValueId x = b.scalar_argument("x", DType::F32, false);
  const ValueId twice = apply(b, ElementOp::multiply, {x, python_int(b, 2)});
  EXPECT_EQ(b.type(twice).kind, ValueKind::Scalar);
  EXPECT_EQ(b.type(twice).dtype, DType::F32);
  EXPECT_FALSE(b.type(twice).weak);
  EXPECT_TRUE(b.type(apply(b, ElementOp::add, {python_int(b, 1), python_float(b, 2)})).weak);
}

TEST(Builder, PythonIntegersMustFit) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")}, DType::U8);
  const Error error = error_of([&] { apply(b, ElementOp::add, {a, python_int(b, 300)}); });
  EXPECT_EQ(error.builtin(), Builtin::Overflow);
  EXPECT_STREQ(error.what(), "Python integer 300 out of bounds for uint8.");
  EXPECT_EQ(error_of([&] { b.store(a, python_int(b, -1)); }).builtin(), Builtin::Overflow);
  EXPECT_NO_THROW(apply(b, ElementOp::add, {a, python_int(b, 255)}));
}

TEST(Builder, ComparisonsOutsideOfTheRangeAreKnown) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")}, DType::U8);
  b.result({ResultKind::Value, apply(b, ElementOp::less, {a, python_int(b, 300)})});
  b.result({ResultKind::Value, apply(b, ElementOp::less, {python_int(b, -1), a})});
  b.result({ResultKind::Value, apply(b, ElementOp::equal, {a, python_int(b, -1)})});
  b.result({ResultKind::Value, apply(b, ElementOp::greater_equal, {a, python_int(b, 255)})});
  const std::string text = print(b.finish());
  EXPECT_TRUE(contains(text, "%2 = fill %1 : b1[N]")) << text;
  EXPECT_TRUE(contains(text, "result %2\nresult %2\nresult %4\n")) << text;
  EXPECT_TRUE(contains(text, "greater_equal")) << text;
}

TEST(Builder, ConstantsFoldTheirCasts) {
  ProgramBuilder b("p");
  const ValueId folded = b.cast(python_float(b, 300.7), DType::U8);
  b.result({ResultKind::Value, folded});
  EXPECT_TRUE(contains(print(b.finish()), "constant 44 : u8"));
}

TEST(Builder, EqualPureOperationsAreMadeOnce) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n}), out = array(b, "out", {n});
  const ValueId once = apply(b, ElementOp::sin, {a});
  EXPECT_EQ(apply(b, ElementOp::sin, {a}), once);
  b.store(out, once);
  EXPECT_NE(apply(b, ElementOp::sin, {a}), once) << "a store may have changed what a load reads";
}

TEST(Builder, ValuesDieWithTheirRegion) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")});
  b.open_region({});
  const ValueId inside = apply(b, ElementOp::sin, {a});
  b.close_region({});
  EXPECT_FALSE(b.visible(inside));
  EXPECT_NE(apply(b, ElementOp::sin, {a}), inside);
  EXPECT_EQ(error_of([&] { apply(b, ElementOp::add, {inside, inside}); }).builtin(), Builtin::Runtime);
}

TEST(Builder, ShapesMustBeProvablyEqual) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N"), m = extent(b, "M");
  const ValueId x = array(b, "x", {n}), y = array(b, "y", {m});
  const Error error = error_of([&] { apply(b, ElementOp::add, {x, y}); });
  EXPECT_STREQ(error.what(),
               "The operands of 'add' cannot be broadcast together with shapes (N,) (M,); extents must be equal or 1.");
  EXPECT_EQ(error_of([&] { b.store(x, y); }).builtin(), Builtin::Value);
  b.guard({{Relation::Eq, n, m}, "x.shape[0] == y.shape[0]", true});
  b.store(x, apply(b, ElementOp::add, {x, y}));
  const std::string text = print(b.finish());
  EXPECT_TRUE(contains(text, "buffer y : f64[M] argument 1")) << text;
  EXPECT_TRUE(contains(text, "add %2, %3 : f64[N]")) << text;
}

TEST(Builder, StoresDropLeadingAxesOfExtentOne) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId x = array(b, "x", {n}), y = array(b, "y", {1, n});
  EXPECT_NO_THROW(b.store(x, y));
  EXPECT_EQ(error_of([&] { b.store(rows(b, x, 0, 1), y); }).builtin(), Builtin::Value);
  EXPECT_NO_THROW(b.finish());
}

TEST(Builder, WindowsOfViewsCompose) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n});
  const ValueId inner = rows(b, rows(b, a, 1, n - 1), 2, n - 3);
  EXPECT_EQ(b.type(inner).map.axes[0].start, Expr(3));
  EXPECT_EQ(b.type(inner).buffer, b.type(a).buffer);
}

TEST(Builder, ReshapeIsAViewWhereMemoryAllows) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N"), m = extent(b, "M");
  const ValueId a = array(b, "a", {n, 2 * m});
  // Axes of extent 1 need no buffer of their own.
  const ValueId wide = b.reshape(a, {1, n, 2 * m, 1});
  EXPECT_EQ(b.type(wide).buffer, b.type(a).buffer);
  // Merged and split axes do.
  const ValueId flat = b.reshape(a, {2 * m * n});
  ASSERT_NE(flat, kNone);
  EXPECT_EQ(b.reshape(a, {2 * m * n}), flat);
  const ValueId split = b.reshape(a, {n, 2, m});
  ASSERT_NE(split, kNone);
  EXPECT_EQ(b.view_strides(split), (std::vector<Expr>{2 * m, m, 1}));
  // A column window cannot be merged, a block of rows can.
  const ValueId columns = b.window(a, {{n, m}, {{Expr(0), {{0, 1}}}, {Expr(1), {{1, 1}}}}});
  EXPECT_EQ(b.reshape(columns, {n * m}), kNone);
  const ValueId block = b.reshape(rows(b, a, 1, n - 1), {(n - 1) * 2 * m});
  ASSERT_NE(block, kNone);
  EXPECT_EQ(b.program().buffers[b.type(block).buffer].offset, 2 * m);
  // A transposed view cannot either; an array value is always copied.
  const ValueId transposed = b.window(a, {{2 * m, n}, {{Expr(0), {{1, 1}}}, {Expr(0), {{0, 1}}}}});
  EXPECT_EQ(b.reshape(transposed, {n * 2 * m}), kNone);
  EXPECT_EQ(b.type(b.reshape(b.load(transposed), {n * 2 * m})).kind, ValueKind::Array);
  EXPECT_EQ(error_of([&] { b.reshape(a, {n}); }).builtin(), Builtin::Value);
}

TEST(Builder, FlagsFollowViewsAndCarriedBuffers) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId x = array(b, "x", {n}), y = array(b, "y", {n}), z = array(b, "z", {n});
  const ProgramBuilder::Parameter both[] = {{b.type(x), b.view_strides(x)}, {b.type(y), b.view_strides(y)}};
  const std::vector<ValueId> p = b.open_region(both);
  b.store(p[0], z);
  Region body = b.close_region({p[1], p[0]});
  b.for_loop(b.symbols().add("i", SymbolKind::Loop, true), 0, n, 1, {x, y}, std::move(body));
  const Program program = b.finish();
  EXPECT_TRUE(program.arguments[0].written && program.arguments[1].written);
  EXPECT_FALSE(program.arguments[0].read || program.arguments[1].read);
  EXPECT_TRUE(program.arguments[2].read && !program.arguments[2].written);
}

TEST(Builder, ViewsOfOwnMemoryAreReturnedAsArrays) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n}), t = b.alloc("t", DType::F64, {n});
  b.store(t, a);
  b.result({ResultKind::Value, t});
  b.result({ResultKind::Value, rows(b, a, 1, n - 1)});
  const Program program = b.finish();
  EXPECT_EQ(program.type(program.results[0].value).kind, ValueKind::Array);
  EXPECT_EQ(program.type(program.results[1].value).kind, ValueKind::View);
}

TEST(Builder, AResultThatMayBeAnArgumentOrNewIsRefused) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  const ValueId a = array(b, "a", {n}), t = b.alloc("t", DType::F64, {n});
  b.store(t, a);
  b.open_region({});
  Region then_region = b.close_region({a});
  b.open_region({});
  Region else_region = b.close_region({t});
  const ValueId either = b.if_else(Condition{Relation::Lt, n, 5}, std::move(then_region), std::move(else_region))[0];
  b.result({ResultKind::Value, either});
  EXPECT_EQ(error_of([&] { b.finish(); }).kind(), ErrorKind::Unsupported);
}

// What was traced and dropped leaves no trace in the text.
TEST(Builder, RetracingGivesTheSameText) {
  const auto build = [](bool retrace) {
    ProgramBuilder b("p");
    const Expr n = extent(b, "N");
    const ValueId a = array(b, "a", {n});
    const ProgramBuilder::Parameter params[] = {{b.type(a), b.view_strides(a)}};
    if (retrace) {
      const std::vector<ValueId> p = b.open_region(params);
      const ValueId t = b.alloc("t", DType::F64, {n});
      b.store(t, apply(b, ElementOp::exp, {p[0]}));
      b.symbols().add("i", SymbolKind::Loop, true);
      b.symbols().add("v", SymbolKind::Opaque, true);
      b.close_region({t});
    }
    const std::vector<ValueId> p = b.open_region(params);
    const ValueId t = b.alloc("t", DType::F64, {n});
    const SymbolId i = b.symbols().add("i", SymbolKind::Loop, true);
    b.store(t, apply(b, ElementOp::add, {p[0], b.size(Expr::symbol(i))}));
    Region body = b.close_region({t});
    b.result({ResultKind::Value, b.load(b.for_loop(i, 0, n, 1, {a}, std::move(body))[0])});
    return print(b.finish());
  };
  EXPECT_EQ(build(false), build(true));
}

TEST(Builder, DeadOperationsGo) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")});
  apply(b, ElementOp::sin, {a});
  const Program program = b.finish();
  EXPECT_TRUE(program.body.ops.empty());
  EXPECT_FALSE(program.arguments[0].read);
}

TEST(Builder, SourcesComeFromTheArguments) {
  ProgramBuilder b("p");
  const Expr n = extent(b, "N");
  array(b, "a", {2 * n + 1});
  array(b, "b", {n});
  const Program program = b.finish();
  ASSERT_EQ(program.sources.size(), 1u);
  EXPECT_EQ(program.sources[0].argument, 0);
  EXPECT_EQ(program.sources[0].coefficient, 2);
  EXPECT_EQ(program.sources[0].offset, 1);
}

TEST(Builder, HalfPrecisionIsRefused) {
  ProgramBuilder b("p");
  const ValueId a = array(b, "a", {extent(b, "N")}, DType::F16);
  EXPECT_EQ(error_of([&] { apply(b, ElementOp::add, {a, a}); }).kind(), ErrorKind::Unsupported);
  EXPECT_EQ(error_of([&] { b.load(a); }).kind(), ErrorKind::Unsupported);
}

TEST(Builder, ConstantsAreNotWritten) {
  ProgramBuilder b("p");
  const ValueId c = b.constant_array("c", DType::I8, {2}, {1, 2});
  EXPECT_EQ(error_of([&] { b.store(c, python_int(b, 1)); }).kind(), ErrorKind::Unsupported);
}

}  // namespace
}  // namespace ferrule
