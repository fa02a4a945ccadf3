#include "lower/lower.h"

#include <gtest/gtest.h>

#include <array>

#include "program/builder.h"

namespace ferrule {
namespace {

loops::Loops lowered(ProgramBuilder& b) {
  const Program program = b.finish();
  loops::Loops loops = lower(program, analyse(program));
  loops::verify(loops);
  return loops;
}

TEST(Lower, OneNestAnOperationAndResultsInTheirPlace) {
  ProgramBuilder b("f");
  const Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  const ValueId a = b.array_argument("a", DType::F64, {n, 1}, {}, Layout::C, 0, false);
  const std::array<ValueId, 2> twice = {a, a};
  b.result({.value = b.elementwise(ElementOp::add, twice)});
  EXPECT_EQ(loops::print(lowered(b)),
            "loops f\n"
            "  buffer a: f64[n, 1] strides [1, 1] argument 0\n"
            "  buffer tmp: f64[n, 1] strides [1, 1] arena 0\n"
            "  buffer result0: f64[n, 1] strides [1, 1] return 0\n"
            "  arena 0\n"
            "  work 0\n"
            "    nest free ($0: n)\n"
            "      r0 = load a[$0, 0]\n"
            "      store tmp[$0, 0] = r0\n"
            "    nest free ($0: n)\n"
            "      r0 = load tmp[$0, 0]\n"
            "      r1 = add f64 r0, r0\n"
            "      store result0[$0, 0] = r1\n"
            "  return array f64[n, 1]\n");
}

TEST(Lower, MemoryThatIsReturnedAsItStandsIsTheReturn) {
  ProgramBuilder b("f");
  const Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  b.array_argument("a", DType::F64, {n}, {}, Layout::C, 0, false);
  const ValueId made = b.alloc("made", DType::F64, {n});
  b.store(made, b.constant(DType::F64, 0, false));
  b.result({.value = b.load(made)});
  const loops::Loops loops = lowered(b);
  int returns = 0;
  for (const loops::Buffer& buffer : loops.buffers) returns += buffer.place == loops::Place::Return;
  EXPECT_EQ(returns, 1);
  EXPECT_EQ(loops.body.size(), 2u);  // make, and the store: no copy
}

TEST(Lower, AStoreAfterTheReadKeepsTheCopy) {
  ProgramBuilder b("f");
  const Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  b.array_argument("a", DType::F64, {n}, {}, Layout::C, 0, false);
  const ValueId made = b.alloc("made", DType::F64, {n});
  b.store(made, b.constant(DType::F64, 0, false));
  const ValueId before = b.load(made);
  b.store(made, b.constant(DType::F64, 0x3ff0000000000000, false));
  b.result({.value = before});
  b.result({.value = b.load(made)});
  const loops::Loops loops = lowered(b);
  EXPECT_EQ(loops.body.size(), 4u);
}

TEST(Lower, PairsThatACallMustTest) {
  ProgramBuilder b("f");
  const Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  const ValueId a = b.array_argument("a", DType::F64, {n}, {}, Layout::C, 0, false);
  const ValueId c = b.array_argument("c", DType::F64, {n}, {}, Layout::C, 0, false);
  b.store(a, c);
  Program program = b.finish();
  const loops::Loops loops = lower(program, analyse(program));
  ASSERT_EQ(loops.alias.size(), 1u);
  EXPECT_EQ(loops.alias[0].written, 0);
  EXPECT_EQ(loops.alias[0].other, 1);
  program.arguments_may_alias = true;
  const loops::Loops overlapping = lower(program, analyse(program));
  EXPECT_TRUE(overlapping.alias.empty());
  EXPECT_TRUE(overlapping.alias_safe);
}

}  // namespace
}  // namespace ferrule
