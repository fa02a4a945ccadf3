// Runs Programs natively, under several choices of passes, and compares with the reference evaluator.
//
// All programs of a test go into one translation unit and one compiler run. Memory of a call is a pool, so that
// arguments may overlap; after a run every byte of it is compared, and every result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loops/loops.h"
#include "program/builder.h"

namespace ferrule::testing {

struct ArrayArg {
  int memory = 0;      // which block of the pool
  int64_t offset = 0;  // elements to the first element
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // elements
};

struct CallArgs {
  std::vector<std::vector<uint8_t>> pool;
  std::vector<ArrayArg> arrays;   // by argument; unused entries for scalars
  std::vector<uint64_t> scalars;  // by argument; unused entries for arrays
};

struct Case {
  std::string name;
  Program program;
  std::vector<CallArgs> calls;
};

// What a run left behind.
struct Outcome {
  int32_t status = 0;
  int32_t error_code = 0;
  std::vector<std::vector<uint8_t>> pool;
  struct Value {
    std::vector<uint8_t> bytes;  // C order; scalars one element; empty for arguments and views
    std::vector<int64_t> shape;
    int argument = -1;
    int64_t byte_offset = 0;
    std::vector<int64_t> strides;
  };
  std::vector<Value> results;
};

// Compiles and loads programs once; run(k, ...) calls program k.
class NativeBatch {
 public:
  explicit NativeBatch(const std::vector<loops::Loops>& programs);
  ~NativeBatch();
  NativeBatch(const NativeBatch&) = delete;
  NativeBatch& operator=(const NativeBatch&) = delete;
  Outcome run(size_t index, const CallArgs& args) const;
  const std::string& source() const { return source_; }

 private:
  std::vector<loops::Loops> programs_;
  std::string source_, folder_;
  void* library_ = nullptr;
};

// The reference evaluator's answer.
Outcome evaluate_case(const Program& program, const CallArgs& args);

// Lowers with all passes but those in `off` (the required ones always run), verifying after each.
loops::Loops compile_with(const Program& program, const std::vector<std::string>& off);

// EXPECTs that native runs of every case agree with the evaluator, with every pass on, with every pass off, and
// (`each_off`) with each one off. Floats may differ by a relative 1e-12 (float32: 2e-6) of the largest value.
void expect_agree(const std::vector<Case>& cases, bool each_off = true);

// Helpers that fill pools.
template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}
// Deterministic values in [-4, 4), with a few zeros.
std::vector<double> numbers(size_t count, uint32_t seed);
// C-ordered array argument over a whole pool block.
ArrayArg dense(int memory, std::vector<int64_t> shape);

}  // namespace ferrule::testing
