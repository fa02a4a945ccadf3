// Each rule of the verifier refuses a program that breaks it.
#include "program/verify.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "program/program_text.h"
#include "program/visit.h"
#include "sample.h"

namespace ferrule {
namespace {

std::string broken(const Program& program) {
  try {
    verify(program);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    return error.what();
  }
  return "legal";
}

Op& first(Program& program, OpKind kind) {
  Op* found = nullptr;
  for_each_op(program.body, [&](Op& op) {
    if (found == nullptr && op.kind == kind) found = &op;
  });
  return *found;
}

// The sample after one change.
template <class F>
std::string after(F&& change) {
  Program program = testing::sample_program();
  change(program);
  return broken(program);
}

#define EXPECT_RULE(change, rule)                                  \
  do {                                                             \
    const std::string message = after([](Program& p) { change; }); \
    EXPECT_NE(message.find(rule), std::string::npos) << message;   \
  } while (false)

TEST(Verify, SampleIsLegal) { EXPECT_EQ(broken(testing::sample_program()), "legal"); }

TEST(Verify, NamesTheProgramAndTheOperation) {
  const std::string message = after([](Program& p) { first(p, OpKind::Load).operands[0] = 1000; });
  EXPECT_NE(message.find("The program 'sample \"1\"' breaks a rule: "), std::string::npos) << message;
  EXPECT_NE(message.find("Operation 'load' with operands (1000)"), std::string::npos) << message;
}

// Two arrays that a loop halves together; their size is a symbol that comes with them.
Program halving() {
  ProgramBuilder b("halving");
  const Expr n = testing::extent(b, "N");
  const ValueId x = testing::array(b, "x", {n});
  const Expr size = Expr::symbol(b.symbols().add("size", SymbolKind::Opaque, true));
  const ProgramBuilder::Parameter array{.type = {.kind = ValueKind::Array, .dtype = DType::F64, .shape = {size}}};
  const std::vector<ProgramBuilder::Parameter> types = {array, array};
  const std::vector<ValueId> p = b.open_region(types);
  const auto half = [&](ValueId of) { return b.window(of, IndexMap{{floordiv(size, 2)}, {{Expr(0), {{0, 2}}}}}); };
  Region body = b.close_region({half(p[0]), half(p[1])});
  const SymbolId i = b.symbols().add("i", SymbolKind::Loop, true);
  const ValueId loaded = b.load(x);
  const std::vector<ValueId> last = b.for_loop(i, 0, 2, 1, {loaded, loaded}, std::move(body));
  b.result({.value = testing::apply(b, ElementOp::add, {last[0], last[1]})});
  return b.finish();
}

TEST(Verify, SizesThatComeWithAValueAreKnownBehindItOnly) {
  EXPECT_EQ(broken(halving()), "legal");
  Program early = halving();
  const Op& loop = first(early, OpKind::For);
  Op size{.kind = OpKind::Size, .results = {ValueId(early.values.size())}};
  size.expr = early.values[loop.results[0]].shape[0];
  early.values.push_back({.kind = ValueKind::Scalar, .dtype = DType::I64, .weak = true});
  early.body.ops.insert(early.body.ops.begin(), size);
  EXPECT_NE(broken(early).find("the symbol 'size' is used where it has no value"), std::string::npos) << broken(early);
}

TEST(Verify, ValuesThatShareASizeHaveOneSize) {
  Program apart = halving();
  Region& body = first(apart, OpKind::For).regions[0];
  body.yields[1] = body.params[1];
  EXPECT_NE(broken(apart).find("a carried value keeps its shape"), std::string::npos) << broken(apart);
}

TEST(Verify, Values) {
  EXPECT_RULE(first(p, OpKind::Load).operands[0] = 1000, "a value lies in the program's table");
  EXPECT_RULE(std::swap(p.body.ops.front(), p.body.ops.back()), "a value is defined before its use");
  EXPECT_RULE(p.body.ops.push_back(p.body.ops.front()), "a value is defined once");
  EXPECT_RULE(p.results[0].value = first(p, OpKind::For).regions[0].yields[2], "in the same or an enclosing region");
}

TEST(Verify, Types) {
  EXPECT_RULE(p.values[p.arguments[0].value].dtype = DType::F32, "a view has its buffer's dtype");
  EXPECT_RULE(p.values[first(p, OpKind::Load).results[0]].shape.clear(), "an array without axes is a scalar");
  EXPECT_RULE(p.values[first(p, OpKind::Load).results[0]].shape[0] = 1, "a load has the view's shape");
  EXPECT_RULE(p.values[first(p, OpKind::Constant).results[0]].dtype = DType::I8, "a constant is a scalar of its dtype");
  EXPECT_RULE(p.values[first(p, OpKind::Elementwise).results[0]].dtype = DType::I8,
              "the result has the dtype of the table");
}

TEST(Verify, Operations) {
  EXPECT_RULE(first(p, OpKind::Elementwise).operands.pop_back(), "an operation has its operands and results");
  EXPECT_RULE(first(p, OpKind::Cast).dtype = DType::I8, "a cast gives its dtype");
  EXPECT_RULE(first(p, OpKind::Reduce).axes = {1}, "a reduction drops its axes");
  EXPECT_RULE(first(p, OpKind::Remap).map.axes.clear(), "a map has one entry for each source axis");
  EXPECT_RULE(first(p, OpKind::Iota).axes = {5}, "the axis of indices exists");
  EXPECT_RULE(first(p, OpKind::Store).operands[0] = first(p, OpKind::Store).operands[1],
              "a store writes a value through a view");
  EXPECT_RULE(first(p, OpKind::Alloc).buffer = 0, "an allocation makes a transient buffer");
  EXPECT_RULE(first(p, OpKind::For).step = 0, "the step of a loop is not zero");
  EXPECT_RULE(first(p, OpKind::For).regions[0].yields.pop_back(), "one value for each parameter");
  EXPECT_RULE(first(p, OpKind::While).regions[0].yields.clear(), "the test of a while loop yields a bool scalar");
  EXPECT_RULE(first(p, OpKind::If).regions.pop_back(), "an if has two regions");
}

TEST(Verify, Symbols) {
  EXPECT_RULE(first(p, OpKind::Size).expr = Expr::symbol(first(p, OpKind::For).symbol),
              "is used where it has no value");
  EXPECT_RULE(first(p, OpKind::Size).expr = Expr::symbol(first(p, OpKind::Symbolize).symbol),
              "is used where it has no value");
  EXPECT_RULE(first(p, OpKind::Size).expr = Expr::symbol(99), "a symbol lies in the program's table");
  EXPECT_RULE(p.sources[0].argument = 77, "a source is an argument");
  EXPECT_RULE(p.sources[0].symbol = 99, "a symbol lies in the program's table");
  EXPECT_RULE(p.sources.erase(p.sources.begin()), "is used where it has no value");
}

TEST(Verify, Buffers) {
  EXPECT_RULE(p.buffers[0].argument = 1, "an argument buffer belongs to its array argument");
  EXPECT_RULE(p.buffers[1].strides.pop_back(), "a buffer has one stride an axis");
  EXPECT_RULE(for (Buffer& b : p.buffers) if (b.storage == Storage::Constant) b.bytes.pop_back(),
              "the bytes of its shape");
  EXPECT_RULE(for (Buffer& b : p.buffers) b.may_be.clear(), "a carried buffer lists every buffer");
}

TEST(Verify, AccessFlags) {
  EXPECT_RULE(p.arguments[0].written = false, "marked as read and written");
  EXPECT_RULE(p.arguments[2].written = true, "marked as read and written");
}

}  // namespace
}  // namespace ferrule
