#include "loops/loops.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "loops/nest_builder.h"
#include "loops/walk.h"

namespace ferrule::loops {
namespace {

// x[i] = x[i] + 1 over n elements.
Loops increment() {
  Loops loops;
  loops.name = "increment";
  const SymbolId n = loops.symbols.add("n", SymbolKind::Extent, true);
  loops.sources.push_back({.symbol = n, .argument = 0});
  loops.arguments.push_back({.name = "x", .buffer = 0, .written = true, .read = true});
  loops.buffers.push_back(
      {.name = "x", .shape = {Expr::symbol(n)}, .strides = {1}, .place = Place::Argument, .index = 0});
  const SymbolId i = axis_variable(loops.symbols, 0);
  const Aliases aliases(loops);
  NestBuilder body(&aliases);
  const Access x{.buffer = 0, .index = {Expr::symbol(i)}};
  body.store(x, body.element(ElementOp::add, DType::F64,
                             {body.load(x, DType::F64), body.constant(DType::F64, 0x3ff0000000000000)}));
  loops.body.push_back({Nest{.axes = {{.variable = i, .extent = Expr::symbol(n)}}, .body = body.finish()}});
  return loops;
}

Nest& nest(Loops& loops) { return std::get<Nest>(loops.body[0].node); }

TEST(Loops, Print) {
  Loops loops = increment();
  verify(loops);
  EXPECT_EQ(print(loops),
            "loops increment\n"
            "  buffer x: f64[n] strides [1] argument 0\n"
            "  arena 0\n"
            "  work 0\n"
            "    nest free ($0: n)\n"
            "      r0 = load x[$0]\n"
            "      r1 = constant f64 0x3ff0000000000000\n"
            "      r2 = add f64 r0, r1\n"
            "      store x[$0] = r2\n");
}

TEST(Loops, VerifierRefusesARegisterBeforeItsValue) {
  Loops loops = increment();
  nest(loops).body[2].src[0] = 7;
  EXPECT_THROW(verify(loops), Error);
}

TEST(Loops, VerifierRefusesAnotherDType) {
  Loops loops = increment();
  loops.buffers[0].dtype = DType::F32;
  EXPECT_THROW(verify(loops), Error);
}

TEST(Loops, VerifierRefusesAVariableOutOfScope) {
  Loops loops = increment();
  nest(loops).axes.clear();
  EXPECT_THROW(verify(loops), Error);
}

TEST(Loops, VerifierRefusesADescendingFreeAxis) {
  Loops loops = increment();
  nest(loops).axes[0].descending = true;
  EXPECT_THROW(verify(loops), Error);
  nest(loops).order = Order::Sequential;
  EXPECT_NO_THROW(verify(loops));
}

TEST(Loops, VerifierRefusesAWrongNumberOfIndices) {
  Loops loops = increment();
  nest(loops).body[0].access.index.push_back(0);
  EXPECT_THROW(verify(loops), Error);
}

TEST(NestBuilder, EqualOperationsAreOneRegister) {
  Loops loops = increment();
  const Aliases aliases(loops);
  NestBuilder body(&aliases);
  const Access first{.buffer = 0, .index = {0}}, second{.buffer = 0, .index = {1}};
  const int a = body.load(first, DType::F64);
  EXPECT_EQ(a, body.load(first, DType::F64));
  EXPECT_NE(a, body.load(second, DType::F64));
  EXPECT_EQ(body.element(ElementOp::add, DType::F64, {a, a}), body.element(ElementOp::add, DType::F64, {a, a}));
  EXPECT_EQ(a, body.cast(a, DType::F64));
}

TEST(NestBuilder, AStoreForwardsItsValueAndMakesOtherLoadsStale) {
  Loops loops = increment();
  const Aliases aliases(loops);
  NestBuilder body(&aliases);
  const Access first{.buffer = 0, .index = {0}}, second{.buffer = 0, .index = {1}};
  const int a = body.load(first, DType::F64), b = body.load(second, DType::F64);
  body.store(first, b);
  EXPECT_EQ(body.load(first, DType::F64), b);
  EXPECT_NE(body.load(second, DType::F64), b);
  EXPECT_NE(a, b);
}

TEST(NestBuilder, UnusedInstructionsGo) {
  Loops loops = increment();
  Nest& n = nest(loops);
  n.body.insert(n.body.begin() + 2, Instr{.code = Code::Constant, .dst = 2, .dtype = DType::F64});
  n.body[3].dst = 3;
  n.body[4].src = {3};
  remove_unused(n);
  EXPECT_EQ(n.body.size(), 4u);
  EXPECT_NO_THROW(verify(loops));
}

TEST(Walk, BuffersThatNothingTouchesGo) {
  Loops loops = increment();
  loops.buffers.insert(loops.buffers.begin(), Buffer{.name = "unused"});
  loops.arguments[0].buffer = 1;
  for_each_access(nest(loops), [](Access& access, bool) { access.buffer = 1; });
  remove_unused_buffers(loops);
  EXPECT_EQ(loops.buffers.size(), 1u);
  EXPECT_EQ(loops.arguments[0].buffer, 0u);
  EXPECT_EQ(print(loops), print(increment()));
}

}  // namespace
}  // namespace ferrule::loops
