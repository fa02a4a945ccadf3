#include "call/invoke.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../../modules/compile.h"

namespace ferrule {
namespace {

using test::compile_module;

std::shared_ptr<Handle> handle_of(const std::string& file, const std::string& flags = "") {
  return std::make_shared<Handle>(load_file(compile_module(file, flags)));
}

template <class T>
DType dtype_of();
template <>
DType dtype_of<double>() {
  return DType::F64;
}
template <>
DType dtype_of<float>() {
  return DType::F32;
}
template <>
DType dtype_of<int64_t>() {
  return DType::I64;
}
template <>
DType dtype_of<int32_t>() {
  return DType::I32;
}

// A dense array with its shape; `ref` may be changed by a test.
template <class T>
struct Dense {
  explicit Dense(std::vector<int64_t> extents, T first = 0) : shape(std::move(extents)) {
    data.resize(static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
    std::iota(data.begin(), data.end(), first);
    ref = {data.data(), dtype_of<T>(), static_cast<int>(shape.size()), shape.data(), nullptr, true};
  }
  Dense(const Dense&) = delete;
  std::vector<int64_t> shape;
  std::vector<T> data;
  ArrayRef ref;
};

struct Refused {
  std::string text;
  Builtin builtin = Builtin::None;
};

Refused refused(Handle& handle, const std::vector<CallArgument>& arguments, std::vector<NamedValue> symbols = {}) {
  try {
    invoke(handle, arguments, symbols);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::User);
    return {error.what(), error.builtin()};
  }
  ADD_FAILURE() << "the call was accepted";
  return {};
}

TEST(Invoke, AddsWithAnInferredExtent) {
  const auto handle = handle_of("add3.c");
  for (const int64_t n : {0, 1, 3, 100}) {
    Dense<double> a({n}), b({n}, 10), out({n});
    EXPECT_TRUE(invoke(*handle, std::vector<CallArgument>{a.ref, b.ref, out.ref}).empty());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out.data[static_cast<size_t>(i)], 10 + 2 * static_cast<double>(i));
  }
}

TEST(Invoke, ShapesThatDisagreeNameBothSources) {
  const auto handle = handle_of("add3.c");
  Dense<double> a({8}), b({5}), out({8}, 7);
  const Refused r = refused(*handle, {a.ref, b.ref, out.ref});
  EXPECT_EQ(r.text, "add3(): 'N': a.shape[0] = 8, but b.shape[0] = 5.");
  EXPECT_EQ(r.builtin, Builtin::Value);
  EXPECT_EQ(out.data[0], 7);
}

TEST(Invoke, RefusesDtypeRankWritabilityAndCount) {
  const auto handle = handle_of("add3.c");
  Dense<double> a({4}), out({4}), wide({2, 2});
  Dense<float> f({4});
  EXPECT_EQ(refused(*handle, {a.ref, f.ref, out.ref}).text,
            "add3(): 'b' has dtype float32, but float64 is expected; convert it to float64 first.");
  EXPECT_EQ(refused(*handle, {a.ref, wide.ref, out.ref}).text,
            "add3(): 'b' has rank 2 and shape (2, 2), but rank 1 and shape (N,) are expected.");
  ArrayRef locked = out.ref;
  locked.writable = false;
  EXPECT_EQ(refused(*handle, {a.ref, a.ref, locked}).text,
            "add3(): 'out' is read-only, but the program writes to it; pass a writable array.");
  EXPECT_NE(refused(*handle, {a.ref, a.ref}).text.find("'out' is missing"), std::string::npos);
  EXPECT_NE(refused(*handle, {a.ref, a.ref, out.ref, out.ref}).text.find("4 arguments are given"), std::string::npos);
  EXPECT_NE(refused(*handle, {a.ref, 1.0, out.ref}).text.find("'b' is no array"), std::string::npos);
}

TEST(Invoke, OverlapRunsTheOtherEntryOrIsRefused) {
  const auto handle = handle_of("add3.c");
  Dense<double> v({6});
  const int64_t five[] = {5};
  const ArrayRef head{v.data.data(), DType::F64, 1, five, nullptr, true};
  const ArrayRef tail{v.data.data() + 1, DType::F64, 1, five, nullptr, true};
  invoke(*handle, std::vector<CallArgument>{head, head, tail});
  EXPECT_EQ(v.data, (std::vector<double>{0, 1000, 1002, 1004, 1006, 1008}));
  Dense<double> w({3}, 1);
  invoke(*handle, std::vector<CallArgument>{w.ref, w.ref, w.ref});  // identical is allowed for `run`
  EXPECT_EQ(w.data, (std::vector<double>{2, 4, 6}));

  const auto shift = handle_of("noalias.c");
  EXPECT_EQ(refused(*shift, {head, tail}).text,
            "shift(): 'out' is written and shares memory with 'a'; pass a copy of 'a'.");
}

TEST(Invoke, StridesAreSymbolsAndDisjointSetsPass) {
  const auto shift = handle_of("noalias.c");
  Dense<double> v({10});
  const int64_t five[] = {5}, sixteen[] = {16}, back[] = {-16};
  invoke(*shift, std::vector<CallArgument>{ArrayRef{v.data.data() + 8, DType::F64, 1, five, back, true},
                                           ArrayRef{v.data.data() + 1, DType::F64, 1, five, sixteen, true}});
  EXPECT_EQ(v.data, (std::vector<double>{0, 8, 2, 6, 4, 4, 6, 2, 8, 0}));
  const int64_t odd[] = {12};
  EXPECT_NE(refused(*shift, {ArrayRef{v.data.data(), DType::F64, 1, five, odd, true}, v.ref}).text.find("no multiple"),
            std::string::npos);
  const int64_t zero[] = {0};
  Dense<double> a({5});
  EXPECT_NE(
      refused(*shift, {a.ref, ArrayRef{v.data.data(), DType::F64, 1, five, zero, true}}).text.find("share memory"),
      std::string::npos);
}

TEST(Invoke, SolvesAndChecksExtents) {
  const auto pairs = handle_of("extents.c");
  Dense<double> a({8}), odd({7});
  Dense<float> b({4, 3}), b3({3, 3}), empty({4, 0});
  Dense<int64_t> c({10}), c11({11});
  const Results results = invoke(*pairs, std::vector<CallArgument>{a.ref, b.ref, c.ref});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(*static_cast<int64_t*>(results[0].data), 4003);
  EXPECT_EQ(refused(*pairs, {odd.ref, b3.ref, c.ref}).text,
            "pairs(): 'a' has shape (7,), but (2*N,) is expected: no 'N' makes 2*N = 7.");
  EXPECT_EQ(refused(*pairs, {a.ref, b3.ref, c.ref}).text, "pairs(): 'N': a.shape[0] = 8 (2*N), but b.shape[0] = 3.");
  EXPECT_EQ(refused(*pairs, {a.ref, b.ref, c11.ref}).text, "pairs(): 'c' has shape (11,), but (10,) is expected.");
  EXPECT_EQ(refused(*pairs, {a.ref, empty.ref, c.ref}).text, "pairs(): the program needs b.shape[1] >= 1, but M = 0.");
  const std::vector<CallArgument> good{a.ref, b.ref, c.ref};
  EXPECT_EQ(invoke(*pairs, good, std::vector<NamedValue>{{"N", 4}}).size(), 1u);
  EXPECT_EQ(refused(*pairs, good, {{"N", 5}}).text, "pairs(): 'N': a.shape[0] = 8 (2*N), but N = 5 was given.");
  EXPECT_NE(refused(*pairs, good, {{"K", 5}}).text.find("there is no symbol 'K'"), std::string::npos);
}

TEST(Invoke, TypedArraysOfTwoAxes) {
  const auto handle = handle_of("typed.c", "-DTYPE=int32_t -DDTYPE=FR_I32 -DRANK=2");
  Dense<int32_t> x({3, 4});
  EXPECT_EQ(*static_cast<double*>(invoke(*handle, std::vector<CallArgument>{x.ref})[0].data), 66);
  const int64_t shape[] = {4, 3}, turned[] = {4, 16}, flat[] = {1, 1}, strange[] = {777, -3};
  EXPECT_NE(refused(*handle, {ArrayRef{x.data.data(), DType::I32, 2, shape, turned, true}})
                .text.find("contiguous in C order"),
            std::string::npos);
  EXPECT_EQ(*static_cast<double*>(invoke(*handle, std::vector<CallArgument>{ArrayRef{x.data.data() + 5, DType::I32, 2,
                                                                                     flat, strange, true}})[0]
                                      .data),
            5);
  const char* odd = reinterpret_cast<const char*>(x.data.data()) + 1;
  EXPECT_NE(
      refused(*handle, {ArrayRef{const_cast<char*>(odd), DType::I32, 2, flat, nullptr, true}}).text.find("not aligned"),
      std::string::npos);
}

TEST(Invoke, ScalarsAndASymbolFromOne) {
  const auto handle = handle_of("scalars.c");
  const std::vector<CallArgument> good{true,
                                       int64_t{-8},
                                       int64_t{7},
                                       int64_t{-9},
                                       uint64_t{255},
                                       ~uint64_t{0},
                                       0.5,
                                       0.25,
                                       std::complex<double>(1, 2),
                                       std::complex<double>(3, 4),
                                       int64_t{-3},
                                       1.5};
  const Results r = invoke(*handle, good);
  ASSERT_EQ(r.size(), 14u);
  EXPECT_EQ(*static_cast<uint8_t*>(r[0].data), 1);
  EXPECT_EQ(*static_cast<int8_t*>(r[1].data), -8);
  EXPECT_EQ(*static_cast<uint64_t*>(r[5].data), ~uint64_t{0});
  EXPECT_EQ(*static_cast<float*>(r[6].data), 0.5f);
  EXPECT_EQ(*static_cast<std::complex<float>*>(r[8].data), std::complex<float>(1, 2));
  EXPECT_EQ(r[12].shape, std::vector<int64_t>{9});
  EXPECT_EQ(r[13].data, nullptr);
  const auto with = [&](size_t at, CallArgument value) {
    std::vector<CallArgument> arguments = good;
    arguments[at] = value;
    return refused(*handle, arguments);
  };
  EXPECT_EQ(with(1, int64_t{128}).builtin, Builtin::Overflow);
  EXPECT_EQ(with(4, int64_t{-1}).builtin, Builtin::Overflow);
  EXPECT_EQ(with(3, 2.0).builtin, Builtin::Type);
  EXPECT_EQ(with(0, int64_t{1}).builtin, Builtin::Type);
  EXPECT_EQ(with(7, 1000.0).text, "scalars(): the program needs f64 < 100.0.");
  EXPECT_EQ(with(10, int64_t{1} << 40).builtin, Builtin::Overflow);
}

TEST(Invoke, ResultsMadeByTheModule) {
  const auto handle = handle_of("returns.c");
  Dense<int32_t> a({7}, -3);
  const Results r = invoke(*handle, std::vector<CallArgument>{a.ref, int64_t{1}, int64_t{2}});
  EXPECT_EQ(r[0].shape, std::vector<int64_t>{3});
  EXPECT_EQ(static_cast<int32_t*>(r[0].data)[2], 3);
  EXPECT_EQ(r[1].shape, std::vector<int64_t>{3});
  EXPECT_EQ(r[1].data, &a.data[1]);
  EXPECT_EQ(r[1].byte_strides, std::vector<int64_t>{8});
  EXPECT_EQ(r[1].memory, nullptr);
  EXPECT_EQ(refused(*handle, {a.ref, int64_t{0}, int64_t{1} << 60}).builtin, Builtin::Memory);
}

TEST(Invoke, AnErrorInAParallelRegionIsThatOfTheLowestIteration) {
  const auto handle = handle_of("parallel.c");
  handle->set_sites({{"f.py:3", ""}, {"f.py:9", ""}});
  for (int round = 0; round < 50; ++round) {
    Dense<int64_t> index({2000});
    EXPECT_EQ(*static_cast<int64_t*>(invoke(*handle, std::vector<CallArgument>{index.ref, int64_t{2000}})[0].data),
              1999000);
    index.data[701] = -1;
    index.data[1500] = 5000;
    const Refused r = refused(*handle, {index.ref, int64_t{2000}});
    ASSERT_EQ(r.text, "check(): index -1 is out of bounds for axis 0 with size 2000 (f.py:9).");
    ASSERT_EQ(r.builtin, Builtin::Index);
  }
}

TEST(Invoke, CallsThatFailAtTheSameTimeKeepTheirErrorsApart) {
  const auto handle = handle_of("parallel.c");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Dense<int64_t> index({500});
      index.data[static_cast<size_t>(100 * t)] = -1 - t;
      const std::string expected = "index " + std::to_string(-1 - t) + " is out of bounds";
      for (int round = 0; round < 100; ++round) {
        try {
          invoke(*handle, std::vector<CallArgument>{index.ref, int64_t{500}});
          ++wrong;
        } catch (const Error& error) {
          wrong += std::string(error.what()).find(expected) == std::string::npos;
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Invoke, StateIsMadeOnceAndAgainAfterFinalize) {
  const auto handle = handle_of("state.c");
  const auto next = [&](int64_t start) {
    return *static_cast<int64_t*>(invoke(*handle, std::vector<CallArgument>{start})[0].data);
  };
  EXPECT_EQ(refused(*handle, {int64_t{-1}}).text, "next(): 'init' returned status 4.");
  EXPECT_EQ(next(5), 6);
  EXPECT_EQ(next(5), 7);
  handle->finalize();
  EXPECT_EQ(next(98), 99);
  EXPECT_EQ(next(0), 100);
  try {
    handle->finalize();
    ADD_FAILURE() << "exit's status 5 was not told";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "next(): 'exit' returned status 5.");
  }
  handle->finalize();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) next(0);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(next(0), 201);
}

TEST(Invoke, TwoHandlesOfOneModuleHaveTheirOwnState) {
  const auto module = load_file(compile_module("state.c"));
  Handle first(module), second(module);
  invoke(first, std::vector<CallArgument>{int64_t{10}});
  EXPECT_EQ(*static_cast<int64_t*>(invoke(second, std::vector<CallArgument>{int64_t{0}})[0].data), 1);
}

TEST(Invoke, RefusesADescriptorWithABadExpression) {
  const auto module = load_file(compile_module("broken.c", "-DBREAK_EXPRESSION"));
  try {
    Handle handle(module);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
  }
}

TEST(Invoke, PrintsSignatures) {
  EXPECT_EQ(signature_text(load_file(compile_module("strided.c"))->descriptor()),
            "fill(x: float64[N, M], inner: float64[N, M] = None, *, value: float64 = 1.0) -> x");
  EXPECT_EQ(signature_text(load_file(compile_module("static_hidden.c"))->descriptor()),
            "scaled(x: float64[N], axis: static, *, K: int) -> float64");
}

// A file that Python can import: its CPython functions are undefined here, also when all are bound at once.
TEST(Importable, RunsWithoutPython) {
  const auto handle = handle_of("importable.cpp");
  Dense<double> x({4});
  const Results y = invoke(*handle, std::vector<CallArgument>{x.ref});
  EXPECT_EQ(static_cast<double*>(y[0].data)[3], 6);
}

TEST(Importable, RunsWithoutPythonWhenAllSymbolsAreBoundAtOnce) {
  const std::string self =
      "LD_BIND_NOW=1 /proc/" + std::to_string(getpid()) + "/exe --gtest_filter=Importable.RunsWithoutPython";
  EXPECT_EQ(std::system((self + " > /dev/null").c_str()), 0);
}

TEST(Plan, EqualExtentsAreStepsOfTheirArgument) {
  const auto handle = handle_of("guarded.c");
  const CallPlan& plan = handle->plan();
  // The first guard is a step of `b`; the second says what the declared extent of `c` says; the third needs evaluation.
  const ArgPlan& b = plan.args[1];
  EXPECT_EQ(b.steps_end - b.steps, 2);
  EXPECT_EQ(b.steps[1].kind, Step::Kind::CheckGuard);
  EXPECT_EQ(b.steps[1].symbol, 0);
  const ArgPlan& c = plan.args[2];
  EXPECT_EQ(c.steps_end - c.steps, 2);
  EXPECT_EQ(c.steps[1].kind, Step::Kind::CheckExtent);
  EXPECT_EQ(plan.late_guards, std::vector<int32_t>{2});
  EXPECT_TRUE(plan.returns_none);
}

TEST(Invoke, GuardsOfEqualExtents) {
  const auto handle = handle_of("guarded.c");
  Dense<double> three({3}), other({3}), four({4}), eight({8}), written({3}), longer({4});
  const auto text = [&](ArrayRef a, ArrayRef b, ArrayRef c) {
    return refused(*handle, std::vector<CallArgument>{a, b, c}).text;
  };
  EXPECT_EQ(text(three.ref, four.ref, written.ref),
            "pair(): a.shape[0] = 3, but b.shape[0] = 4; the program needs a.shape[0] == b.shape[0].");
  EXPECT_EQ(text(three.ref, other.ref, longer.ref), "pair(): 'a.shape[0]': a.shape[0] = 3, but c.shape[0] = 4.");
  Dense<double> beside({8}), result({8});
  EXPECT_EQ(text(eight.ref, beside.ref, result.ref), "pair(): the program needs a.shape[0] <= 7, but a.shape[0] = 8.");
}

TEST(Invoke, AnArenaForTheOverlappingCallAlone) {
  const auto handle = handle_of("guarded.c");
  Dense<double> a({3}), b({3}), c({3});
  invoke(*handle, std::vector<CallArgument>{a.ref, b.ref, c.ref});
  EXPECT_EQ(c.data, (std::vector<double>{1, 1, 1}));
  invoke(*handle, std::vector<CallArgument>{c.ref, b.ref, c.ref});
  EXPECT_EQ(c.data, (std::vector<double>{2, 2, 2}));
}

TEST(Plan, TellsShortWorkFromTheSizesAlone) {
  const std::shared_ptr<Handle> sum = handle_of("add3.c");  // its estimate is the symbol 0
  const ShortWork& of_sum = sum->plan().short_work;
  EXPECT_TRUE(of_sum.known);
  EXPECT_EQ(of_sum.symbols, std::vector<int32_t>{0});
  EXPECT_EQ(of_sum.largest, static_cast<uint64_t>(kLongWork));
  Frame frame(sum->plan());
  frame.symbols[0] = kLongWork;
  EXPECT_FALSE(sum->is_long(frame));
  frame.symbols[0] = kLongWork + 1;
  EXPECT_TRUE(sum->is_long(frame));

  const std::shared_ptr<Handle> constant = handle_of("parallel.c");  // its estimate is a million
  EXPECT_FALSE(constant->plan().short_work.known);
  const Frame none(constant->plan());
  EXPECT_TRUE(constant->is_long(none));
}

}  // namespace
}  // namespace ferrule
