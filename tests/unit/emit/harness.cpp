#include "harness.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "analyse/analyse.h"
#include "base/file.h"
#include "base/process.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "program/evaluate.h"
#include "schedule/schedule.h"

namespace ferrule::testing {
namespace {

// The host of one call: memory by malloc, results kept here.
struct Recorder {
  Outcome outcome;
  std::vector<std::unique_ptr<void, decltype(&std::free)>> memory;
  std::vector<DType> dtypes;
};

Recorder& recorder(FrCallCtx* ctx) { return *reinterpret_cast<Recorder*>(ctx); }

void* allocate(Recorder& r, int64_t bytes) {
  // A canary of one line on both ends is left to the sanitizer presets.
  r.memory.emplace_back(std::aligned_alloc(64, size_t((bytes + 64) / 64 * 64)), &std::free);
  return r.memory.back().get();
}

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

void set_error(FrCallCtx* ctx, int32_t code, int32_t, const int64_t*) { recorder(ctx).outcome.error_code = code; }

void* alloc_return(FrCallCtx* ctx, int32_t ret, int32_t rank, const int64_t* shape) {
  Recorder& r = recorder(ctx);
  r.outcome.results[size_t(ret)].shape.assign(shape, shape + rank);
  void* data = allocate(r, count_of(r.outcome.results[size_t(ret)].shape) * item_size(r.dtypes[size_t(ret)]));
  r.outcome.results[size_t(ret)].argument = -2 - int(r.memory.size() - 1);  // filled in after the run
  return data;
}

int32_t view_return(FrCallCtx* ctx, int32_t ret, int32_t arg, int64_t offset, int32_t rank, const int64_t* shape,
                    const int64_t* strides) {
  Outcome::Value& value = recorder(ctx).outcome.results[size_t(ret)];
  value.argument = arg;
  value.byte_offset = offset;
  value.shape.assign(shape, shape + rank);
  value.strides.assign(strides, strides + rank);
  return FR_OK;
}

void* alloc_scratch(FrCallCtx* ctx, int64_t bytes) { return allocate(recorder(ctx), bytes); }

int32_t parallel_for(FrCallCtx*, int64_t n, int64_t, FrBody body, void* closure) { return body(closure, 0, n, 0); }

const FrHost kHost = {sizeof(FrHost), FR_ABI_MAJOR << 16 | FR_ABI_MINOR,
                      set_error,      alloc_return,
                      view_return,    parallel_for,
                      nullptr,        nullptr,
                      nullptr,        alloc_scratch};

std::vector<int64_t> symbol_values(const loops::Loops& program, const CallArgs& args) {
  std::vector<int64_t> values(program.symbols.size(), 0);
  for (const SymbolSource& source : program.sources) {
    int64_t value = 0;
    if (source.source == FR_SYMBOL_EXTENT) value = args.arrays[source.argument].shape[source.axis];
    if (source.source == FR_SYMBOL_STRIDE) value = args.arrays[source.argument].strides[source.axis];
    if (source.source == FR_SYMBOL_SCALAR) value = int64_t(args.scalars[source.argument]);
    values[source.symbol] = (value - source.offset) / source.coefficient;
  }
  return values;
}

template <class T>
double largest_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, double* scale) {
  double difference = 0;
  for (size_t k = 0; k + sizeof(T) <= a.size(); k += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a.data() + k, sizeof(T));
    std::memcpy(&y, b.data() + k, sizeof(T));
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    if (!std::isfinite(x) || !std::isfinite(y)) return INFINITY;
    difference = std::max(difference, std::fabs(double(x) - double(y)));
    *scale = std::max(*scale, std::fabs(double(x)));
  }
  return difference;
}

void expect_bytes(DType dtype, const std::vector<uint8_t>& expected, const std::vector<uint8_t>& actual,
                  const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  if (expected == actual) return;
  double scale = 1;
  double difference = INFINITY;
  if (dtype == DType::F64) difference = largest_difference<double>(expected, actual, &scale);
  if (dtype == DType::F32) difference = largest_difference<float>(expected, actual, &scale);
  EXPECT_LE(difference, scale * (dtype == DType::F64 ? 1e-12 : 2e-6)) << what;
}

}  // namespace

NativeBatch::NativeBatch(const std::vector<loops::Loops>& programs) : programs_(programs) {
  std::vector<const loops::Loops*> pointers;
  for (const loops::Loops& program : programs_) pointers.push_back(&program);
  source_ = emit_batch(pointers, EmitOptions{.digest = "test"});
  if (const int error = make_private_folder(temporary_root(), "ferrule-emit-", &folder_)) {
    throw std::runtime_error("No folder for generated code: " + errno_text(error));
  }
  const std::string file = folder_ + "/batch.cpp", module = folder_ + "/batch.so", log = folder_ + "/log.txt";
  std::ofstream(file) << source_;
  const char* compiler = std::getenv("CXX");
  const ProcessResult result =
      run_process({compiler != nullptr ? compiler : "g++", "-std=c++20", "-O3", "-march=native", "-fno-math-errno",
                   "-fno-trapping-math", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall",
                   "-Wextra", "-Wno-missing-field-initializers", "-Werror", "-I",
                   std::string(FERRULE_SOURCE_DIR) + "/include", file, "-o", module},
                  {.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"}, .output_path = log, .time_limit_s = 240});
  if (result.spawn_error != 0 || result.exit_status != 0 || result.signal != 0) {
    std::string text;
    read_file(log, &text);
    throw std::runtime_error("The generated code does not compile:\n" + text + "\n" + source_);
  }
  library_ = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
}

NativeBatch::~NativeBatch() {
  if (library_ != nullptr) dlclose(library_);
  remove_tree(folder_);
}

Outcome NativeBatch::run(size_t index, const CallArgs& args) const {
  const loops::Loops& program = programs_[index];
  const std::string symbol = std::string(FR_MODULE_SYMBOL) + "_" + std::to_string(index);
  const auto* module = static_cast<const FrModule*>(dlsym(library_, symbol.c_str()));
  EXPECT_NE(module, nullptr);
  EXPECT_EQ(module->magic, FR_ABI_MAGIC);

  Recorder recorder;
  recorder.outcome.pool = args.pool;
  recorder.outcome.results.resize(program.returns.size());
  const std::vector<int64_t> by_id = symbol_values(program, args);
  std::vector<int64_t> symbols;
  for (const SymbolSource& source : program.sources) symbols.push_back(by_id[source.symbol]);
  std::vector<void*> pointers;
  std::vector<uint64_t> scalars = args.scalars;
  for (size_t k = 0; k < program.arguments.size(); ++k) {
    const Argument& argument = program.arguments[k];
    if (argument.kind == ArgumentKind::Array) {
      const ArrayArg& array = args.arrays[k];
      pointers.push_back(recorder.outcome.pool[size_t(array.memory)].data() + array.offset * item_size(argument.dtype));
    } else {
      pointers.push_back(argument.kind == ArgumentKind::Scalar ? &scalars[k] : nullptr);
    }
  }
  for (size_t r = 0; r < program.returns.size(); ++r) {
    const loops::Return& ret = program.returns[r];
    recorder.dtypes.push_back(ret.dtype);
    void* data = nullptr;
    if (ret.kind == FR_RETURN_ARRAY || ret.kind == FR_RETURN_SCALAR) {
      for (const Expr& extent : ret.shape) recorder.outcome.results[r].shape.push_back(extent.evaluate(by_id));
      data =
          allocate(recorder, std::max<int64_t>(16, count_of(recorder.outcome.results[r].shape) * item_size(ret.dtype)));
      recorder.outcome.results[r].argument = -2 - int(recorder.memory.size() - 1);
    }
    if (ret.kind == FR_RETURN_ARGUMENT) recorder.outcome.results[r].argument = ret.argument;
    pointers.push_back(data);
  }
  const int64_t arena_bytes = program.arena_bytes.evaluate(by_id);
  FrCall call{};
  call.size = sizeof(FrCall);
  call.args = pointers.data();
  call.symbols = symbols.data();
  call.arena = arena_bytes > 0 ? allocate(recorder, arena_bytes) : nullptr;
  call.ctx = reinterpret_cast<FrCallCtx*>(&recorder);
  call.host = &kHost;
  recorder.outcome.status = module->run(nullptr, &call);
  for (size_t r = 0; r < program.returns.size(); ++r) {
    Outcome::Value& value = recorder.outcome.results[r];
    if (value.argument > -2) continue;
    const auto* data = static_cast<const uint8_t*>(recorder.memory[size_t(-2 - value.argument)].get());
    value.bytes.assign(data, data + count_of(value.shape) * item_size(program.returns[r].dtype));
    value.argument = -1;
  }
  return recorder.outcome;
}

Outcome evaluate_case(const Program& program, const CallArgs& args) {
  Outcome outcome;
  outcome.pool = args.pool;
  std::vector<EvalArray> arrays(program.arguments.size());
  for (size_t k = 0; k < program.arguments.size(); ++k) {
    const Argument& argument = program.arguments[k];
    if (argument.kind != ArgumentKind::Array) continue;
    const ArrayArg& array = args.arrays[k];
    arrays[k].data = outcome.pool[size_t(array.memory)].data() + array.offset * item_size(argument.dtype);
    arrays[k].shape = array.shape;
    arrays[k].strides = array.strides;
  }
  std::vector<uint64_t> scalars = args.scalars;
  scalars.resize(program.arguments.size());
  const EvalOutcome result = evaluate(program, arrays, scalars);
  if (result.trap) {
    outcome.status = FR_STATUS_ERROR;
    outcome.error_code = result.trap->code;
  }
  for (const EvalResult& value : result.results) {
    Outcome::Value out;
    out.shape = value.shape;
    out.argument = value.argument;
    out.bytes = value.bytes;
    if (value.is_view) {
      out.byte_offset = value.offset * item_size(value.dtype);
      out.strides = value.strides;
    }
    outcome.results.push_back(std::move(out));
  }
  return outcome;
}

loops::Loops compile_with(const Program& program, const std::vector<std::string>& off) {
  loops::Loops loops = lower(program, analyse(program));
  loops::verify(loops);
  for (const SchedulePass& pass : schedule_passes()) {
    if (!pass.required && std::find(off.begin(), off.end(), pass.name) != off.end()) continue;
    loops = pass.run(std::move(loops));
    loops::verify(loops);
  }
  return loops;
}

void expect_agree(const std::vector<Case>& cases, bool each_off) {
  std::vector<std::vector<std::string>> variants = {{}};
  std::vector<std::string> all;
  for (const SchedulePass& pass : schedule_passes()) {
    if (pass.required) continue;
    if (each_off) variants.push_back({pass.name});
    all.push_back(pass.name);
  }
  if (all.size() > 1) variants.push_back(all);
  std::vector<loops::Loops> programs;
  for (const Case& c : cases) {
    for (const std::vector<std::string>& off : variants) programs.push_back(compile_with(c.program, off));
  }
  const NativeBatch native(programs);
  for (size_t c = 0; c < cases.size(); ++c) {
    for (size_t call = 0; call < cases[c].calls.size(); ++call) {
      const CallArgs& args = cases[c].calls[call];
      const Outcome expected = evaluate_case(cases[c].program, args);
      for (size_t v = 0; v < variants.size(); ++v) {
        const loops::Loops& program = programs[c * variants.size() + v];
        const Outcome actual = native.run(c * variants.size() + v, args);
        std::string what = cases[c].name + ", call " + std::to_string(call) + ", off:";
        for (const std::string& pass : variants[v]) what += " " + pass;
        ASSERT_EQ(expected.status, actual.status) << what;
        ASSERT_EQ(expected.error_code, actual.error_code) << what;
        if (expected.status != FR_OK) continue;
        for (size_t block = 0; block < expected.pool.size(); ++block) {
          DType dtype = DType::U8;
          for (size_t k = 0; k < program.arguments.size(); ++k) {
            const bool array = program.arguments[k].kind == ArgumentKind::Array;
            if (array && args.arrays[k].memory == int(block)) dtype = program.arguments[k].dtype;
          }
          expect_bytes(dtype, expected.pool[block], actual.pool[block], what + ", memory " + std::to_string(block));
        }
        ASSERT_EQ(expected.results.size(), actual.results.size()) << what;
        for (size_t r = 0; r < expected.results.size(); ++r) {
          const std::string which = what + ", result " + std::to_string(r);
          const Outcome::Value &e = expected.results[r], &a = actual.results[r];
          EXPECT_EQ(e.argument, a.argument) << which;
          if (e.argument >= 0) {
            EXPECT_EQ(e.byte_offset, a.byte_offset) << which;
            EXPECT_EQ(e.strides, a.strides) << which;
            continue;
          }
          EXPECT_EQ(e.shape, a.shape) << which;
          expect_bytes(program.returns[r].dtype, e.bytes, a.bytes, which);
        }
        if (::testing::Test::HasFailure()) {
          ADD_FAILURE() << loops::print(program);
          return;
        }
      }
    }
  }
}

std::vector<double> numbers(size_t count, uint32_t seed) {
  std::vector<double> values;
  uint32_t state = seed * 2654435761u + 12345u;
  for (size_t k = 0; k < count; ++k) {
    state = state * 1664525u + 1013904223u;
    const double value = double(state >> 8) / double(1 << 24) * 8 - 4;
    values.push_back(state % 17 == 0 ? 0.0 : value);
  }
  return values;
}

ArrayArg dense(int memory, std::vector<int64_t> shape) {
  ArrayArg array{.memory = memory, .shape = shape, .strides = std::vector<int64_t>(shape.size(), 1)};
  for (size_t axis = shape.size(); axis-- > 1;) array.strides[axis - 1] = array.strides[axis] * shape[axis];
  return array;
}

}  // namespace ferrule::testing
