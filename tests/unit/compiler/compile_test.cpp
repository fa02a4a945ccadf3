// The whole pipeline from C++: build a Program, compile it through a store, load it, call it. No Python anywhere.
#include "artifact/compile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/error.h"
#include "call/invoke.h"
#include "compiler.h"
#include "load/module.h"
#include "program/builder.h"

namespace ferrule {
namespace {

class CompileTest : public ::testing::Test {
 protected:
  CompileTest() {
    std::string folder = ::testing::TempDir() + "ferrule-compile-XXXXXX";
    root_ = ::mkdtemp(folder.data());
    options_.build.include_dir = FERRULE_SOURCE_DIR "/include";
    options_.build.target = "baseline";
  }
  ~CompileTest() override { std::filesystem::remove_all(root_); }

  std::string root_;
  CompileOptions options_;
};

// out[i] = a[i] * 2 + i over one axis.
Program twice_plus_index() {
  ProgramBuilder b("twice_plus_index");
  const Expr n = Expr::symbol(b.symbols().add("N", SymbolKind::Extent, true));
  const ValueId a = b.array_argument("a", DType::F64, {n}, {}, Layout::C, 0, false);
  const ValueId out = b.array_argument("out", DType::F64, {n}, {}, Layout::C, 0, false);
  const ValueId two = b.constant(DType::F64, 0x4000000000000000u, true);
  const ValueId product[] = {a, two};
  const ValueId doubled = b.elementwise(ElementOp::multiply, product);
  const ValueId terms[] = {doubled, b.iota({n}, 0)};
  b.store(out, b.elementwise(ElementOp::add, terms));
  return b.finish();
}

TEST_F(CompileTest, CompilesLoadsAndRuns) {
  Store store(root_);
  const Program program = twice_plus_index();
  const Compilation first = compile(program, options_, store);
  EXPECT_TRUE(first.built);
  const LoadableModule module = load_bytes(first.artifact, store);
  Handle handle(load_module(module.bytes, module.key));
  for (const int64_t n : {0, 1, 7, 1000}) {
    std::vector<double> a(static_cast<size_t>(n) + 1, 1.5), out(static_cast<size_t>(n) + 1, -1.0);
    const int64_t stride = sizeof(double);
    const CallArgument arguments[] = {ArrayRef{a.data(), DType::F64, 1, &n, &stride, true},
                                      ArrayRef{out.data(), DType::F64, 1, &n, &stride, true}};
    invoke(handle, arguments);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], 3.0 + static_cast<double>(i));
    EXPECT_EQ(out.back(), -1.0);
  }
}

// x[at:], its sum, x itself, and the whole of a copy; IndexError where `at` is beyond the end.
Program tail() {
  ProgramBuilder b("tail");
  const Expr n = Expr::symbol(b.symbols().add("N", SymbolKind::Extent, true));
  const ValueId x = b.array_argument("x", DType::F64, {n}, {}, Layout::C, 0, false);
  b.scalar_argument("at", DType::I64, true);
  const Expr at = Expr::symbol(b.argument(1).symbol);
  b.set_site(b.add_site({"tail.py", 3}));
  b.check(Condition{Relation::Lt, at, n}, FR_ERR_INDEX);
  const ValueId view = b.window(x, IndexMap{{n - at}, {{at, {{0, 1}}}}});
  b.result({ResultKind::Value, view});
  b.result({ResultKind::Value, b.reduce(ReduceOp::sum, view, {0}, std::nullopt)});
  b.result({ResultKind::Argument, kNone, 0});
  b.result({ResultKind::Value, b.load(view)});
  return b.finish();
}

TEST_F(CompileTest, TheReferenceTargetEvaluatesBehindTheSameInterface) {
  Store store(root_);
  const Compilation compiled = compile(tail(), options_, store);
  options_.build.target = "reference";
  const Compilation evaluated = compile(tail(), options_, store);
  EXPECT_NE(compiled.artifact.key(), evaluated.artifact.key());
  EXPECT_NE(evaluated.emitted.source.find("program tail"), std::string::npos);
  for (const Compilation* made : {&compiled, &evaluated}) {
    const LoadableModule module = load_bytes(made->artifact, store);
    Handle handle(load_module(module.bytes, module.key));
    double x[] = {1, 2, 4, 8};
    const int64_t n = 4, stride = sizeof(double);
    const ArrayRef whole{x, DType::F64, 1, &n, &stride, true};
    const Results results = invoke(handle, std::vector<CallArgument>{whole, int64_t{1}});
    EXPECT_EQ(results[0].data, x + 1);
    EXPECT_EQ(results[0].shape, std::vector<int64_t>{3});
    EXPECT_EQ(*static_cast<double*>(results[1].data), 14);
    EXPECT_EQ(results[2].data, x);
    EXPECT_NE(results[3].data, x + 1);
    EXPECT_EQ(static_cast<double*>(results[3].data)[2], 8);
    handle.set_sites({{"tail.py:3", ""}});
    try {
      invoke(handle, std::vector<CallArgument>{whole, int64_t{4}});
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "tail(): index 4 is out of bounds for size 4 (tail.py:3).");
    }
  }
}

TEST_F(CompileTest, TheSecondCompilationIsAHitWithEqualSource) {
  Store store(root_);
  const Compilation first = compile(twice_plus_index(), options_, store);
  Store other(root_);
  const Compilation second = compile(twice_plus_index(), options_, other);
  EXPECT_FALSE(second.built);
  EXPECT_EQ(first.emitted.source, second.emitted.source);
  EXPECT_EQ(first.artifact.key(), second.artifact.key());
}

TEST_F(CompileTest, APassThatIsOffChangesTheKeyAndNotTheResult) {
  Store store(root_);
  const Compilation fast = compile(twice_plus_index(), options_, store);
  options_.emit.passes.off = {"inline"};
  const Compilation slow = compile(twice_plus_index(), options_, store);
  EXPECT_NE(fast.artifact.key(), slow.artifact.key());
  EXPECT_NE(fast.emitted.source, slow.emitted.source);
  const LoadableModule module = load_bytes(slow.artifact, store);
  Handle handle(load_module(module.bytes, module.key));
  double a[] = {1, 2}, out[2];
  const int64_t n = 2, stride = sizeof(double);
  const CallArgument arguments[] = {ArrayRef{a, DType::F64, 1, &n, &stride, true},
                                    ArrayRef{out, DType::F64, 1, &n, &stride, true}};
  invoke(handle, arguments);
  EXPECT_EQ(out[0], 2.0);
  EXPECT_EQ(out[1], 5.0);
}

TEST_F(CompileTest, OnlyOptionalPassesCanBeLeftOut) {
  EXPECT_NO_THROW(require_optional_pass("inline"));
  for (const char* name : {"lower", "place", "emit", "inlined"})
    EXPECT_THROW(require_optional_pass(name), Error) << name;
}

TEST_F(CompileTest, StagesAreKnownByName) {
  EXPECT_EQ(stage_names().front(), "program");
  EXPECT_EQ(stage_names().back(), "emit");
  EXPECT_NO_THROW(require_stage("lower"));
  try {
    require_stage("lowering");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'lowering' is no stage; the stages are program, analyse, lower"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ferrule
