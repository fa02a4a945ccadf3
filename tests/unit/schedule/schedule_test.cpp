#include "schedule/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "lower/lower.h"
#include "program/builder.h"

namespace ferrule {
namespace {

struct Fixture {
  ProgramBuilder b{"f"};
  Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  Expr m = Expr::symbol(b.symbols().add("m", SymbolKind::Extent, true));

  ValueId argument(const char* name, std::vector<Expr> shape, Layout layout = Layout::C) {
    return b.array_argument(name, DType::F64, std::move(shape), {}, layout, 0, false);
  }
  ValueId apply(ElementOp op, ValueId x, ValueId y) { return b.elementwise(op, std::array<ValueId, 2>{x, y}); }
  ValueId apply(ElementOp op, ValueId x) { return b.elementwise(op, std::array<ValueId, 1>{x}); }

  // The program after the named passes, in order, the statements alone.
  std::string after(std::initializer_list<std::string> passes) {
    const Program program = b.finish();
    loops::Loops loops = lower(program, analyse(program));
    for (const SchedulePass& pass : schedule_passes()) {
      for (const std::string& name : passes) {
        if (name == pass.name) loops = pass.run(std::move(loops));
      }
      loops::verify(loops);
    }
    const std::string text = loops::print(loops);
    const size_t work = text.find("  work ");
    return text.substr(text.find('\n', work) + 1);
  }
};

TEST(Inline, AChainBecomesOneNest) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), out = f.argument("out", {f.n});
  f.b.store(out, f.apply(ElementOp::sqrt, f.apply(ElementOp::add, a, f.apply(ElementOp::square, a))));
  EXPECT_EQ(f.after({"inline"}),
            "    nest free ($0: n)\n"
            "      r0 = load a[$0]\n"
            "      r1 = square f64 r0\n"
            "      r2 = add f64 r0, r1\n"
            "      r3 = sqrt f64 r2\n"
            "      store out[$0] = r3\n");
}

TEST(Inline, AReductionTakesItsProducers) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), c = f.argument("c", {f.n});
  f.b.result({.value = f.b.reduce(ReduceOp::sum, f.apply(ElementOp::multiply, a, c), {0}, std::nullopt)});
  EXPECT_EQ(f.after({"inline"}),
            "    nest free (over $0: n)\n"
            "      r0 = load a[$0]\n"
            "      r1 = load c[$0]\n"
            "      r2 = multiply f64 r0, r1\n"
            "      reduce s[] = sum f64 r2\n"
            "    nest free ()\n"
            "      r0 = load s[]\n"
            "      store result0[] = r0\n"
            "  return scalar f64\n");
}

TEST(Inline, ExpensiveValuesAreNotRepeatedAlongANewAxis) {
  Fixture f;
  const ValueId row = f.argument("row", {f.m}), out = f.argument("out", {f.n, f.m});
  f.b.store(out, f.apply(ElementOp::exp, row));
  EXPECT_EQ(f.after({"inline"}),
            "    nest free ($0: m)\n"
            "      r0 = load row[$0]\n"
            "      r1 = exp f64 r0\n"
            "      store tmp_2[$0] = r1\n"
            "    nest free ($0: n, $1: m)\n"
            "      r0 = load tmp_2[$1]\n"
            "      store out[$0, $1] = r0\n");
}

TEST(Inline, WhatChangesInBetweenIsKept) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), out = f.argument("out", {f.n});
  const ValueId before = f.apply(ElementOp::negative, a);
  f.b.store(a, f.b.constant(DType::F64, 0, false));
  f.b.store(out, before);
  EXPECT_EQ(f.after({"inline"}),
            "    nest free ($0: n)\n"
            "      r0 = load a[$0]\n"
            "      store tmp[$0] = r0\n"
            "    nest free ($0: n)\n"
            "      r0 = constant f64 0x0\n"
            "      store a[$0] = r0\n"
            "    nest free ($0: n)\n"
            "      r0 = load tmp[$0]\n"
            "      r1 = negative f64 r0\n"
            "      store out[$0] = r1\n");
}

TEST(Inline, WhatReadsBeforeItIsWrittenIsKept) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), out = f.argument("out", {f.n});
  const ValueId t = f.b.alloc("t", DType::F64, {f.n});
  f.b.store(out, f.b.load(t));
  f.b.store(t, f.apply(ElementOp::add, a, f.b.load(t)));
  EXPECT_EQ(f.after({"inline"}),
            "    make t\n"
            "    nest free ($0: n)\n"
            "      r0 = load t[$0]\n"
            "      store out[$0] = r0\n"
            "    nest free ($0: n)\n"
            "      r0 = load a[$0]\n"
            "      r1 = load t[$0]\n"
            "      r2 = add f64 r0, r1\n"
            "      store t[$0] = r2\n");
}

TEST(Join, NeighboursShareTheirLoads) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n});
  const ValueId square = f.apply(ElementOp::square, a);
  f.b.result({.value = square});
  f.b.result({.value = f.apply(ElementOp::add, square, a)});
  EXPECT_EQ(f.after({"inline", "join"}),
            "    nest free ($0: n)\n"
            "      r0 = load a[$0]\n"
            "      r1 = square f64 r0\n"
            "      store result0[$0] = r1\n"
            "      r2 = add f64 r1, r0\n"
            "      store result1[$0] = r2\n"
            "  return array f64[n]\n"
            "  return array f64[n]\n");
}

TEST(Join, OtherElementsKeepThemApart) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), out = f.argument("out", {f.n});
  const ValueId square = f.apply(ElementOp::square, a);
  f.b.result({.value = square});
  IndexMap reversed{{f.n}, {{f.n - 1, {{0, -1}}}}};
  f.b.store(out, f.b.window(square, reversed));
  const std::string text = f.after({"inline", "join"});
  EXPECT_NE(text.find("load result0[n - $0 - 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("nest free", 20), std::string::npos) << text;
}

TEST(Join, ANestWithAnOrderOfItsOwnStaysApart) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n}), b = f.argument("b", {f.n}), c = f.argument("c", {f.n});
  const IndexMap earlier{{f.n - 1}, {{0, {{0, 1}}}}}, later{{f.n - 1}, {{1, {{0, 1}}}}};
  f.b.store(f.b.window(c, later), f.apply(ElementOp::square, f.b.window(a, later)));
  f.b.store(f.b.window(b, later), f.apply(ElementOp::multiply, f.b.window(b, earlier), f.b.window(a, later)));
  EXPECT_EQ(f.after({"inline", "join"}),
            "    nest free ($0: n - 1)\n"
            "      r0 = load a[$0 + 1]\n"
            "      r1 = square f64 r0\n"
            "      store c[$0 + 1] = r1\n"
            "    nest sequential ($0: n - 1 down)\n"
            "      r0 = load b[$0]\n"
            "      r1 = load a[$0 + 1]\n"
            "      r2 = multiply f64 r0, r1\n"
            "      store b[$0 + 1] = r2\n");
}

TEST(Order, FortranArraysRunAlongTheirFirstAxis) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n, f.m}, Layout::F), out = f.argument("out", {f.n, f.m}, Layout::F);
  f.b.store(out, f.apply(ElementOp::negative, a));
  EXPECT_EQ(f.after({"inline", "order", "collapse"}),
            "    nest free ($0: n*m)\n"
            "      r0 = load a{$0}\n"
            "      r1 = negative f64 r0\n"
            "      store out{$0} = r1\n");
}

TEST(Order, ManyAxesDoNotOverflowTheStrides) {
  for (const int rank : {7, 20, 64}) {
    Fixture f;
    std::vector<Expr> shape;
    for (int axis = 0; axis < rank; ++axis)
      shape.push_back(Expr::symbol(f.b.symbols().add(fmt::format("n{}", axis), SymbolKind::Extent, true)));
    const ValueId a = f.argument("a", shape, Layout::F), out = f.argument("out", shape, Layout::F);
    f.b.store(out, f.apply(ElementOp::square, a));
    EXPECT_NE(f.after({"inline", "order"}).find("nest free ("), std::string::npos);
  }
}

TEST(Collapse, InteriorsKeepTheirRows) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n, f.m, 3}), out = f.argument("out", {f.n, f.m, 3});
  IndexMap interior{{f.n, f.m - 1, 3}, {{0, {{0, 1}}}, {1, {{1, 1}}}, {0, {{2, 1}}}}};
  f.b.store(f.b.window(out, interior), f.b.window(a, interior));
  const std::string text = f.after({"inline", "collapse"});
  EXPECT_NE(text.find("nest free ($0: n, $2: 3*m - 3)"), std::string::npos) << text;
}

TEST(Place, TemporariesThatDoNotMeetShareMemory) {
  Fixture f;
  const ValueId a = f.argument("a", {f.n, f.n});
  IndexMap transposed{{f.n, f.n}, {{0, {{1, 1}}}, {0, {{0, 1}}}}};
  // Five stores of a transposed whole onto itself: five temporaries, never two at a time.
  for (int k = 0; k < 5; ++k) f.b.store(a, f.b.window(a, transposed));
  const Program program = f.b.finish();
  loops::Loops loops = lower(program, analyse(program));
  for (const SchedulePass& pass : schedule_passes()) loops = pass.run(std::move(loops));
  EXPECT_EQ(loops.arena_bytes.evaluate(std::vector<int64_t>(loops.symbols.size(), 8)), 8 * 8 * 8);
}

TEST(Place, SmallTemporariesLiveOnTheStack) {
  Fixture f;
  const ValueId a = f.argument("a", {4, 4});
  IndexMap transposed{{4, 4}, {{0, {{1, 1}}}, {0, {{0, 1}}}}};
  f.b.store(a, f.b.window(a, transposed));
  const Program program = f.b.finish();
  loops::Loops loops = lower(program, analyse(program));
  for (const SchedulePass& pass : schedule_passes()) loops = pass.run(std::move(loops));
  EXPECT_TRUE(loops.arena_bytes.is_constant(0));
  bool local = false;
  for (const loops::Buffer& buffer : loops.buffers)
    local = local || (buffer.place == loops::Place::Local && buffer.shape.size() == 2);
  EXPECT_TRUE(local);
}

}  // namespace
}  // namespace ferrule
