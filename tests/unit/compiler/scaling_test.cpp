// The work of all stages grows about linearly with the program. Work is counted in allocations, which every stage makes
// for whatever it builds, compares or copies; the size of the emitted text is the other measure.
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "allocations.h"
#include "compiler.h"
#include "program/builder.h"

namespace ferrule {
namespace {

struct Fixture {
  ProgramBuilder b{"big"};
  Expr n = Expr::symbol(b.symbols().add("N", SymbolKind::Extent, true));
  ValueId x = argument("x", {n});

  ValueId argument(const char* name, std::vector<Expr> shape) {
    return b.array_argument(name, DType::F64, std::move(shape), {}, Layout::C, 0, false);
  }
  ValueId apply(ElementOp op, ValueId left, ValueId right) {
    return b.elementwise(op, std::array<ValueId, 2>{left, right});
  }
  ValueId add(ValueId left, ValueId right) { return apply(ElementOp::add, left, right); }
  ValueId multiply(ValueId left, ValueId right) { return apply(ElementOp::multiply, left, right); }
  ValueId number(int value) { return b.constant(DType::F64, std::bit_cast<uint64_t>(value + 0.5), true); }
  // Row i of an array with rows of N elements.
  ValueId row(ValueId rows, int i) {
    return b.window(rows, {.shape = {n}, .axes = {{.start = i}, {.terms = {{.axis = 0}}}}});
  }
  void give(ValueId value) { b.result({.value = value}); }
};

// y = y * a + c, again and again.
void chain(Fixture& f, int operations) {
  const ValueId a = f.argument("a", {f.n}), c = f.argument("c", {f.n});
  ValueId y = f.x;
  for (int i = 0; i < operations; i += 2) y = f.add(f.multiply(y, a), c);
  f.give(y);
}

void wide_sum(Fixture& f, int operations) {
  std::vector<ValueId> terms;
  for (int i = 0; i < operations / 2; ++i) terms.push_back(f.multiply(f.x, f.number(i)));
  ValueId sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = f.add(sum, terms[i]);
  f.give(sum);
}

// Each operation reads the one before twice; with copies, it would be 2^operations.
void diamonds(Fixture& f, int operations) {
  ValueId y = f.x;
  for (int i = 0; i < operations; ++i) y = i % 2 == 0 ? f.multiply(y, y) : f.add(y, y);
  f.give(y);
}

// Each operation reads the two before.
void ladder(Fixture& f, int operations) {
  ValueId before = f.x, y = f.multiply(f.x, f.x);
  for (int i = 1; i < operations; ++i) {
    const ValueId next = i % 2 == 0 ? f.multiply(before, y) : f.add(before, y);
    before = y;
    y = next;
  }
  f.give(y);
}

void row_stores(Fixture& f, int operations) {
  const ValueId out = f.argument("out", {operations, f.n});
  for (int i = 0; i < operations; ++i) f.b.store(f.row(out, i), f.multiply(f.x, f.number(i)));
}

// A running value of which each step is stored.
void running_stores(Fixture& f, int operations) {
  const ValueId out = f.argument("out", {operations, f.n});
  ValueId y = f.x;
  for (int i = 0; i < operations; ++i) f.b.store(f.row(out, i), y = f.multiply(y, f.x));
}

// Statements over arrays of their own, each with an in-place update.
void distinct_arrays(Fixture& f, int operations) {
  const ValueId out = f.argument("out", {operations / 2, f.n});
  for (int i = 0; i < operations / 2; ++i) {
    const ValueId own = f.b.alloc("own", DType::F64, {f.n});
    f.b.store(own, f.number(i));
    f.b.store(own, f.add(own, f.x));
    f.b.store(f.row(out, i), own);
  }
}

void in_place(Fixture& f, int operations) {
  const ValueId out = f.argument("out", {f.n});
  for (int i = 0; i < operations; ++i) f.b.store(out, f.add(out, f.x));
}

void loops_in_a_row(Fixture& f, int operations) {
  const ValueId out = f.argument("out", {f.n});
  for (int k = 0; k < operations / 5; ++k) {
    const SymbolId i = f.b.symbols().add("i" + std::to_string(k), SymbolKind::Loop, true);
    f.b.open_region({});
    const IndexMap element{.axes = {{.start = Expr::symbol(i)}}};
    f.b.store(f.b.window(out, element), f.multiply(f.b.window(f.x, element), f.number(k)));
    f.b.for_loop(i, 0, f.n, 1, {}, f.b.close_region({}));
  }
}

struct Shape {
  const char* name;
  void (*build)(Fixture&, int operations);
};

class Scaling : public ::testing::TestWithParam<Shape> {};

TEST_P(Scaling, WorkAndTextAreLinear) {
  std::array<double, 2> work, text;
  for (const int k : {0, 1}) {
    Fixture fixture;
    GetParam().build(fixture, k == 0 ? 500 : 2000);
    const Program program = fixture.b.finish();
    const size_t before = allocations();
    const EmittedSource emitted = emit_source(program, {.alias_version = true});
    const size_t made = allocations() - before;
    work[k] = double(made);
    text[k] = double(emitted.source.size());
    RecordProperty(k == 0 ? "allocations_500" : "allocations_2000", std::to_string(made));
  }
  // Four times the operations: sixteen times the work where a stage is quadratic. Up to twice more than in proportion
  // is left for what is computed again where a body is cut at the longest that inlining builds.
  EXPECT_LT(work[1], 8 * work[0]);
  EXPECT_LT(text[1], 8 * text[0]);
}

INSTANTIATE_TEST_SUITE_P(Programs, Scaling,
                         ::testing::Values(Shape{"chain", chain}, Shape{"wide_sum", wide_sum},
                                           Shape{"diamonds", diamonds}, Shape{"ladder", ladder},
                                           Shape{"row_stores", row_stores}, Shape{"running_stores", running_stores},
                                           Shape{"distinct_arrays", distinct_arrays}, Shape{"in_place", in_place},
                                           Shape{"loops_in_a_row", loops_in_a_row}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ferrule
