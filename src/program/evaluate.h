// The reference evaluator: slow and obvious; defines right answers with the functors of rt/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"

namespace ferrule {

// Memory of an argument: first element, strides in elements.
struct EvalArray {
  void* data = nullptr;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

struct EvalResult {
  DType dtype = DType::F64;
  std::vector<int64_t> shape;  // empty for scalars
  std::vector<uint8_t> bytes;  // C order; empty for arguments and views
  int argument = -1;           // the argument itself, or the one it is a view of
  bool is_view = false;
  int64_t offset = 0;            // view: elements from the argument's first element
  std::vector<int64_t> strides;  // view
};

struct EvalTrap {
  int code = 0;
  int site = -1;
  int64_t values[4] = {0, 0, 0, 0};
};

struct EvalOutcome {
  std::vector<EvalResult> results;
  std::optional<EvalTrap> trap;
};

// arrays and scalars by argument index (scalars as zero-extended bits). Guards that fail throw user_error.
EvalOutcome evaluate(const Program& program, const std::vector<EvalArray>& arrays,
                     const std::vector<uint64_t>& scalars);

}  // namespace ferrule
