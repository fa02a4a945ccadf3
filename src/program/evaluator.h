// One evaluation of a Program: its values, memory and symbols as numbers. Each file evaluate*.cpp runs one kind of
// operations; evaluate.cpp runs the body, evaluate_call.cpp stands behind the interface of a module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "ferrule/abi.h"
#include "program/elements.h"
#include "program/evaluate.h"

namespace ferrule::evaluation {

using Indices = std::vector<int64_t>;

// Memory of one buffer: where it lies, how much of it may be touched, which argument it belongs to.
struct Memory {
  uint8_t* first = nullptr;          // of element 0
  int64_t lowest = 0, highest = -1;  // elements that exist
  int argument = -1;
  std::shared_ptr<std::vector<uint8_t>> owner;
};

// A window with numbers instead of expressions.
struct Window {
  Memory memory;
  int64_t offset = 0;
  Indices shape, strides;
};

struct EvalValue {
  DType dtype = DType::F64;
  Indices shape;               // Array
  std::vector<uint8_t> bytes;  // Scalar, Array: C order
  Window window;               // View
};

// The largest int64 where there are more.
inline int64_t count_of(const Indices& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) return std::numeric_limits<int64_t>::max();
  return count;
}

// Memory of an array, each byte `fill`. Throws EvalTrap with FR_ERR_MEMORY where there is not as much.
std::vector<uint8_t> bytes_for(DType dtype, const Indices& shape, uint8_t fill = 0);

// Calls f(index) for every index of a shape in C order.
template <class F>
void for_each_index(const Indices& shape, F&& f) {
  if (count_of(shape) == 0) return;
  Indices index(shape.size(), 0);
  for (;;) {
    f(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

inline uint64_t read_bits(const uint8_t* at, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(size));
  return bits;
}

class Evaluator {
 public:
  // Binds the arguments; throws user_error where they do not fit the program.
  Evaluator(const Program& program, const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars);
  // Of a call that is bound already: its symbols are solved, its guards hold.
  Evaluator(const Program& program, const FrCall& call);

  // Throws EvalTrap where a check fails.
  void run();
  // Runs, and gives the results or the trap.
  EvalOutcome outcome();
  // After run(): gives the call its results, of `kinds` (FrReturnKind). A status of its host where that refuses.
  int32_t give(const FrCall& call, std::span<const uint8_t> kinds);

 private:
  explicit Evaluator(const Program& program);

  // Regions and values (evaluate.cpp).
  void region(const Region& r);
  void operation(const Op& op);
  int64_t number(const Expr& e) const { return e.evaluate(symbols_); }
  Indices numbers(const std::vector<Expr>& exprs) const;
  EvalValue& value(ValueId id) { return values_[id]; }
  void set_scalar(ValueId id, uint64_t bits);
  uint64_t scalar(ValueId id) { return read_bits(values_[id].bytes.data(), item_size(values_[id].dtype)); }
  // An array (or scalar) of the result's type with its shape, to be filled.
  EvalValue fresh(const ValueType& type) const;
  EvalResult result(const Result& r);
  void check(const Op& op);

  // Arguments (evaluate_arguments.cpp).
  void bind_symbols(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars);
  void check_rank(const Argument& argument, const EvalArray& array) const;
  void bind_arguments(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars);
  void bind_memory(size_t i, void* data);

  // Calls (evaluate_call.cpp).
  int32_t give_view(const FrCall& call, int32_t place, const EvalValue& from) const;
  int32_t give_elements(const FrCall& call, int32_t place, const EvalValue& from, bool is_view, bool is_dynamic) const;

  // Memory (evaluate_memory.cpp).
  void own_memory(BufferId id, std::vector<uint8_t> bytes);
  Indices strides_of(BufferId id) const;
  Window buffer_window(BufferId id) const;
  void set_view(ValueId id);
  // Copies what a window shows, in C order.
  static void read(const Window& window, DType dtype, uint8_t* to);
  void load(const Op& op);
  void store(const Op& op);
  void alloc(const Op& op);

  // Array values (evaluate_arrays.cpp).
  void elementwise(const Op& op);
  void cast(const Op& op);
  void iota(const Op& op);
  void fill(const Op& op);
  void remap(const Op& op);
  void reduce(const Op& op);

  // Control flow (evaluate_control.cpp).
  bool holds(const Op& op);
  // An opaque symbol that nothing else defines takes its value with what is carried; other sizes must agree.
  void carry_size(const Expr& expected, int64_t actual, bool matters);
  // All sources are read before any target is written: targets may be sources of the next step.
  void carry(const std::vector<ValueId>& from, const std::vector<ValueId>& to);
  void for_loop(const Op& op);
  void while_loop(const Op& op);
  void if_else(const Op& op);

  const Program& p_;
  std::vector<EvalValue> values_;
  std::vector<Window> buffers_;
  std::vector<int64_t> symbols_;
  std::unordered_set<SymbolId> local_symbols_;
};

}  // namespace ferrule::evaluation
