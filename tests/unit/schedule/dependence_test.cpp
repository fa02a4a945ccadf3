#include "schedule/dependence.h"

#include <gtest/gtest.h>

#include "loops/nest_builder.h"

namespace ferrule::loops {
namespace {

// A nest over (i, j) in (n, m) that stores x[store] = x[load].
struct Fixture {
  Loops loops;
  Expr n, m, i, j;
  Fixture() {
    const SymbolId n_id = loops.symbols.add("n", SymbolKind::Extent, true),
                   m_id = loops.symbols.add("m", SymbolKind::Extent, true);
    n = Expr::symbol(n_id), m = Expr::symbol(m_id);
    i = Expr::symbol(axis_variable(loops.symbols, 0)), j = Expr::symbol(axis_variable(loops.symbols, 1));
    loops.arguments = {{.name = "x", .buffer = 0}, {.name = "y", .buffer = 1}};
    for (int k = 0; k < 2; ++k) {
      loops.buffers.push_back({.name = k == 0 ? "x" : "y",
                               .shape = {2 * n + 9, 2 * m + 9},
                               .strides = {2 * m + 9, 1},
                               .place = Place::Argument,
                               .index = k});
    }
  }
  std::optional<Nest> order(std::vector<Expr> store, std::vector<Expr> load, BufferId from = 0) {
    const Aliases aliases(loops);
    Facts facts(&loops.symbols);
    NestBuilder body(&aliases);
    const Access access{.buffer = from, .index = std::move(load)};
    body.store({.buffer = 0, .index = std::move(store)}, body.load(access, DType::F64));
    Nest nest{.axes = {{.variable = *i.as_symbol(), .extent = n}, {.variable = *j.as_symbol(), .extent = m}},
              .body = body.finish()};
    OldValues order(nest, aliases, facts);
    if (!order.accept({access})) return std::nullopt;
    order.apply(nest);
    return nest;
  }
};

TEST(Dependence, TheSameElementIsFree) {
  Fixture f;
  const auto nest = f.order({f.i, f.j}, {f.i, f.j});
  ASSERT_TRUE(nest);
  EXPECT_EQ(nest->order, Order::Free);
}

TEST(Dependence, ReadingAheadGoesUp) {
  Fixture f;
  const auto nest = f.order({f.i, f.j}, {f.i + 1, f.j});
  ASSERT_TRUE(nest);
  EXPECT_EQ(nest->order, Order::Sequential);
  EXPECT_FALSE(nest->axes[0].descending);
}

TEST(Dependence, ReadingBehindGoesDown) {
  Fixture f;
  const auto nest = f.order({f.i, f.j + 3}, {f.i, f.j});
  ASSERT_TRUE(nest);
  EXPECT_EQ(nest->order, Order::Sequential);
  EXPECT_FALSE(nest->axes[0].descending);
  EXPECT_TRUE(nest->axes[1].descending);
}

TEST(Dependence, TheOuterAxisDecidesFirst) {
  Fixture f;
  const auto nest = f.order({f.i + 1, f.j}, {f.i, f.j + 1});
  ASSERT_TRUE(nest);
  EXPECT_TRUE(nest->axes[0].descending);
  EXPECT_FALSE(nest->axes[1].descending);
}

TEST(Dependence, NegativeStepsTurnTheDirection) {
  Fixture f;
  const auto nest = f.order({f.n - 1 - f.i, f.j}, {f.n - f.i, f.j});
  ASSERT_TRUE(nest);
  EXPECT_TRUE(nest->axes[0].descending);
}

TEST(Dependence, AMirrorNeedsATemporary) {
  Fixture f;
  EXPECT_FALSE(f.order({f.i, f.j}, {f.n - 1 - f.i, f.j}));
  EXPECT_FALSE(f.order({f.i, f.j}, {f.j, f.i}));
}

TEST(Dependence, HalvesAndParitiesAreApart) {
  Fixture f;
  const auto halves = f.order({f.i, f.j}, {f.n + f.i, f.m - 1 - f.j});
  ASSERT_TRUE(halves);
  EXPECT_EQ(halves->order, Order::Free);
  const auto parities = f.order({2 * f.i, f.j}, {2 * f.i + 1, f.m - 1 - f.j});
  ASSERT_TRUE(parities);
  EXPECT_EQ(parities->order, Order::Free);
}

TEST(Dependence, HalvesWithAnElementInCommonNeedATemporary) {
  Fixture f;
  const Expr last = f.n - 1, mirrored = f.m - 1 - f.j;
  EXPECT_FALSE(f.order({f.i, f.j}, {last + f.i, mirrored}));
  EXPECT_FALSE(f.order({last + f.i, f.j}, {f.i, mirrored}));
}

TEST(Dependence, OverlappingArgumentsNeedATemporary) {
  Fixture f;
  EXPECT_TRUE(f.order({f.i, f.j}, {f.i, f.j}, 1));
  f.loops.alias_safe = true;
  EXPECT_FALSE(f.order({f.i, f.j}, {f.i, f.j}, 1));
}

TEST(Dependence, AnElementThatIsWrittenAgainNeedsATemporary) {
  Fixture f;
  EXPECT_FALSE(f.order({f.i, 0}, {f.i + 1, 0}));
}

TEST(Dependence, AnUnknownDistanceNeedsATemporary) {
  Fixture f;
  const Expr k = Expr::symbol(f.loops.symbols.add("k", SymbolKind::Scalar, false));
  EXPECT_FALSE(f.order({f.i, f.j}, {f.i + k, f.j}));
  // Of known sign it does not.
  EXPECT_TRUE(f.order({f.i, f.j}, {f.i + f.n, f.j}));
}

}  // namespace
}  // namespace ferrule::loops
