#include "analyse/analyse.h"

#include <gtest/gtest.h>

#include "program/builder.h"

namespace ferrule {
namespace {

struct Fixture {
  ProgramBuilder b{"p"};
  Expr n = Expr::symbol(b.symbols().add("n", SymbolKind::Extent, true));
  ValueId a = b.array_argument("a", DType::F64, {n}, {}, Layout::C, 0, false);
  ValueId c = b.array_argument("c", DType::F64, {n}, {}, Layout::C, 0, false);

  ProgramBuilder::Parameter parameter() { return {.type = b.type(a), .strides = b.view_strides(a)}; }
  // for 3 times with two views carried; `next` gives the views of the next iteration.
  template <class Next>
  std::vector<ValueId> loop(ValueId first, ValueId second, Next next) {
    const SymbolId t = b.symbols().add("t", SymbolKind::Loop, true);
    const std::vector<ProgramBuilder::Parameter> types = {parameter(), parameter()};
    const std::vector<ValueId> p = b.open_region(types);
    Region body = b.close_region(next(p));
    return b.for_loop(t, 0, 3, 1, {first, second}, std::move(body));
  }
  // The views that a branch chooses: of the first pair or the second.
  std::vector<ValueId> choose(std::vector<ValueId> first, std::vector<ValueId> second) {
    b.open_region({});
    Region then = b.close_region(std::move(first));
    b.open_region({});
    Region otherwise = b.close_region(std::move(second));
    return b.if_else(Condition{Relation::Lt, n, 5}, std::move(then), std::move(otherwise));
  }
  // Keeps pointers alive in the finished program: both are stored through.
  void use(const std::vector<ValueId>& views) {
    for (ValueId view : views) b.store(view, b.constant(DType::F64, 0, false));
  }
};

std::vector<BufferId> carried(const Program& program) {
  std::vector<BufferId> result;
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].storage == Storage::Carried) result.push_back(id);
  }
  return result;
}

TEST(Analyse, ArgumentsAreApartUnlessTheyMayOverlap) {
  Fixture f;
  f.use({f.a, f.c});
  Program program = f.b.finish();
  EXPECT_FALSE(analyse(program).may_alias(0, 1));
  EXPECT_TRUE(analyse(program).may_alias(0, 0));
  program.arguments_may_alias = true;
  EXPECT_TRUE(analyse(program).may_alias(0, 1));
}

TEST(Analyse, TheEndsOfASwapAreDistinct) {
  Fixture f;
  f.use(f.loop(f.a, f.c, [&](const std::vector<ValueId>& p) {
    f.use(p);
    return std::vector<ValueId>{p[1], p[0]};
  }));
  const Program program = f.b.finish();
  const ProgramFacts facts = analyse(program);
  const std::vector<BufferId> pointers = carried(program);
  ASSERT_EQ(pointers.size(), 4u);
  EXPECT_EQ(facts.roots[pointers[0]].size(), 2u);
  EXPECT_FALSE(facts.may_alias(pointers[0], pointers[1]));
  EXPECT_TRUE(facts.may_alias(pointers[0], program.arguments[0].buffer));
}

TEST(Analyse, OneViewCarriedTwiceMayMeet) {
  Fixture f;
  f.use(f.loop(f.a, f.c, [&](const std::vector<ValueId>& p) {
    f.use(p);
    return std::vector<ValueId>{p[1], p[1]};
  }));
  const Program program = f.b.finish();
  const ProgramFacts facts = analyse(program);
  const std::vector<BufferId> pointers = carried(program);
  EXPECT_TRUE(facts.may_alias(pointers[0], pointers[1]));
}

TEST(Analyse, WhatABranchChoosesMayMeetTheChoices) {
  Fixture f;
  const std::vector<ValueId> chosen = f.choose({f.a, f.c}, {f.c, f.a});
  f.use({chosen[0], chosen[1], f.a, f.c});
  const Program program = f.b.finish();
  const ProgramFacts facts = analyse(program);
  const std::vector<BufferId> pointers = carried(program);
  ASSERT_EQ(pointers.size(), 2u);
  for (BufferId pointer : pointers) {
    EXPECT_TRUE(facts.may_alias(pointer, program.arguments[0].buffer));
    EXPECT_TRUE(facts.may_alias(pointer, program.arguments[1].buffer));
  }
  EXPECT_FALSE(facts.may_alias(pointers[0], pointers[1]));
}

TEST(Analyse, OneSideOfABranchIsEnoughToMeet) {
  Fixture f;
  f.use(f.choose({f.a, f.c}, {f.c, f.c}));
  const Program program = f.b.finish();
  const std::vector<BufferId> pointers = carried(program);
  ASSERT_EQ(pointers.size(), 2u);
  EXPECT_TRUE(analyse(program).may_alias(pointers[0], pointers[1]));
}

TEST(Analyse, MemoryMadeInALoopAvoidsThePointersThatKeepIt) {
  Fixture f;
  BufferId fresh = kNone;
  f.use(f.loop(f.a, f.c, [&](const std::vector<ValueId>& p) {
    const ValueId made = f.b.alloc("fresh", DType::F64, {f.n});
    f.b.store(made, p[0]);
    f.use({p[1]});
    return std::vector<ValueId>{made, p[0]};
  }));
  const Program program = f.b.finish();
  for (BufferId id = 0; id < program.buffers.size(); ++id) {
    if (program.buffers[id].storage == Storage::Transient) fresh = id;
  }
  ASSERT_NE(fresh, kNone);
  const ProgramFacts facts = analyse(program);
  const std::vector<BufferId> pointers = carried(program);
  EXPECT_GE(facts.avoid[fresh].size(), 2u);
  EXPECT_FALSE(facts.may_alias(fresh, pointers[0]));
  EXPECT_FALSE(facts.may_alias(fresh, pointers[1]));
}

TEST(Analyse, ReshapesShareTheirBase) {
  Fixture f;
  const Expr m = Expr::symbol(f.b.symbols().add("m", SymbolKind::Extent, true));
  const ValueId d = f.b.array_argument("d", DType::F64, {f.n, m}, {}, Layout::C, 0, false);
  const ValueId flat = f.b.reshape(d, {f.n * m});
  f.use({flat, f.a});
  const BufferId alias = f.b.type(flat).buffer, base = f.b.type(d).buffer, other = f.b.type(f.a).buffer;
  const ProgramFacts facts = analyse(f.b.program());
  EXPECT_TRUE(facts.may_alias(alias, base));
  EXPECT_FALSE(facts.may_alias(alias, other));
}

}  // namespace
}  // namespace ferrule
