// Builds a Program: infers dtypes and shapes, inserts casts and broadcasts, composes views. Capture and C++ use it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/program.h"

namespace ferrule {

// All methods append to the current region and throw user_error (what NumPy would raise: TypeError, ValueError) or
// unsupported (dtypes that the compiler does not compute with). A refused call appends nothing.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name);
  ProgramBuilder(const ProgramBuilder&) = delete;  // facts and regions point into it
  ProgramBuilder& operator=(const ProgramBuilder&) = delete;

  Symbols& symbols() { return program_.symbols; }
  Facts& facts() { return facts_; }
  const Program& program() const { return program_; }
  const ValueType& type(ValueId id) const { return program_.values[id]; }

  // Arguments, in declared order.
  // Extents are fresh symbols, constants, or affine expressions of symbols; strides empty for C and F layouts. A symbol
  // gets its axis as source unless it has one already.
  ValueId array_argument(std::string name, DType dtype, std::vector<Expr> shape, std::vector<Expr> strides,
                         Layout layout, int inner_axis, bool hidden);
  // A weak int makes a symbol of kind Scalar as well (Argument::symbol), with its source.
  ValueId scalar_argument(std::string name, DType dtype, bool weak);
  void static_argument(std::string name, std::string repr);
  Argument& argument(int index) { return program_.arguments[index]; }
  // The first source of a symbol counts; further ones are dropped (the call checks extents across arrays).
  void symbol_source(SymbolSource source);
  ValueId constant_array(std::string name, DType dtype, std::vector<int64_t> shape, std::vector<uint8_t> bytes);

  // Values. `site` set by set_site applies to all that follows.
  void set_site(int site) { site_ = site; }
  int add_site(Site site);
  ValueId constant(DType dtype, uint64_t bits, bool weak);
  ValueId size(const Expr& expr);
  // Opaque symbol with the value of an integer scalar.
  SymbolId symbolize(ValueId scalar, std::string name, bool nonnegative);
  // Operands: scalars, arrays and views (which are loaded). Shapes broadcast: axes whose extent is the constant 1
  // stretch; other axes must be provably equal under facts(), else user_error. `shape` gives the result's shape.
  ValueId elementwise(ElementOp op, std::span<const ValueId> operands);
  ValueId cast(ValueId value, DType dtype);
  // A scalar as a Python number (weak) or as a NumPy scalar; anything else is returned as it is.
  ValueId reweight(ValueId value, bool weak);
  ValueId iota(std::vector<Expr> shape, int axis);
  ValueId fill(ValueId scalar, std::vector<Expr> shape);
  // A window: of a View gives a View, of an Array an Array.
  ValueId window(ValueId value, IndexMap map);
  // Another shape over the same elements in C order. View: a View if NumPy would give one (provably), else kNone.
  // Array: always an Array (split and merged axes through a transient buffer).
  ValueId reshape(ValueId value, std::vector<Expr> shape);
  ValueId load(ValueId view);
  // Strides of a view in elements, one an axis (0 for a broadcast axis); what a Parameter of View type takes.
  std::vector<Expr> view_strides(ValueId view) const;
  // Whether the value may be used in the current region: it was defined there or in an enclosing one.
  bool visible(ValueId value) const;
  // target: View; value: scalar, array or view, broadcast to the target and cast (NumPy's unsafe casting).
  void store(ValueId target, ValueId value);
  ValueId alloc(std::string name, DType dtype, std::vector<Expr> shape);
  // `dtype`: the accumulator and result type; nullopt: by the table. Axes ascending, within rank, no repeats.
  ValueId reduce(ReduceOp op, ValueId value, std::vector<int> axes, std::optional<DType> dtype);
  void check(ValueId condition, int code);
  void check(const Condition& condition, int code);

  // Control flow. open_region starts a detached region whose parameters have the given types; operations go there
  // until close_region takes it off the stack and returns it (to be used, or dropped to trace again). A View parameter
  // type makes a Carried buffer; `buffer` and `map` of the given type are ignored, `strides` are taken from the given
  // expressions (fresh opaque symbols allowed).
  struct Parameter {
    ValueType type;
    std::vector<Expr> strides;  // View
  };
  std::vector<ValueId> open_region(std::span<const Parameter> params);
  Region close_region(std::vector<ValueId> yields);
  size_t depth() const { return stack_.size(); }
  std::vector<ValueId> for_loop(SymbolId variable, const Expr& lo, const Expr& hi, const Expr& step,
                                std::vector<ValueId> initial, Region body);
  std::vector<ValueId> while_loop(std::vector<ValueId> initial, Region test, Region body);
  std::vector<ValueId> if_else(ValueId condition, Region then_region, Region else_region);
  std::vector<ValueId> if_else(const Condition& condition, Region then_region, Region else_region);

  void guard(Guard guard);
  void result(Result result) { program_.results.push_back(result); }
  void set_returns_tuple(bool tuple) { program_.returns_tuple = tuple; }
  void set_options(bool bounds_check, bool arguments_may_alias);

  // The finished, verified program; the builder is empty afterwards.
  Program finish();

 private:
  // Where a value was made: the operation, if it has one, and the region by a number that no other region gets.
  struct Definition {
    const Region* region = nullptr;
    uint32_t index = kNone;
    uint32_t serial = 0;
    uint32_t version = 0;  // Load: what memory_version_ was
  };
  // One open region with the pure operations in it by hash, so that equal ones are made once.
  struct Scope {
    Region* region;
    uint32_t serial;
    std::unordered_map<size_t, std::vector<ValueId>> known;
  };

  Region& region() { return *stack_.back().region; }
  const Op* definition(ValueId id) const;
  ValueId new_value(ValueType type);
  // Appends an operation with one result; a pure one that is already known gives the known value.
  ValueId append(Op op, ValueType type);
  void append(Op op);
  std::optional<ValueId> find_known(size_t hash, const Op& op, const ValueType& type) const;
  const ValueType& use(ValueId id) const;

  ValueId as_value(ValueId id);  // loads a view
  ValueId cast_scalar_constant(const Op& constant, DType dtype);
  std::optional<bool> compare_out_of_range(ElementOp op, std::span<const ValueId> operands) const;
  void check_weak_constant(ValueId id, DType dtype) const;
  std::vector<Expr> broadcast_shape(std::string_view what, std::span<const ValueId> operands) const;
  ValueId broadcast_to(ValueId value, const std::vector<Expr>& shape);
  ValueId remap(ValueId array, IndexMap map);
  bool same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b) const;
  std::string shape_text(const std::vector<Expr>& shape) const;

  BufferId new_buffer(Buffer buffer);
  ValueId whole_view(BufferId buffer);
  std::vector<Expr> strides_of(BufferId buffer) const;
  std::vector<Expr> linear_strides(const ValueType& view) const;
  Expr view_offset(const ValueType& view) const;
  void check_not_constant(BufferId buffer) const;

  ValueId carried_view(const ValueType& type, std::vector<Expr> strides, const char* name);
  void check_carried(std::span<const ValueId> values, std::span<const ValueId> params, const char* what) const;
  std::vector<ValueId> carried_results(std::span<const ValueId> params, std::span<const ValueId> initial,
                                       std::span<const ValueId> yields);
  std::vector<ValueId> joined_results(const Region& then_region, const Region& else_region);
  // Whether a size has a value in the current region: no opaque symbol of it is defined in a region that has ended.
  bool has_value(const Expr& expr) const;
  // The symbol, if a region's parameter or result brings its value: an opaque one that has none outside.
  std::optional<SymbolId> carried_symbol(const Expr& expr) const;
  void set_home(SymbolId symbol, uint32_t serial);
  std::vector<ValueId> append_control(Op op, std::vector<ValueId> results);
  Result owned_result(Result result);
  void add_source(const Expr& expr, uint8_t source, int argument, int axis);

  Program program_;
  Facts facts_;
  std::vector<Scope> stack_;  // [0]: the program's body
  std::vector<std::unique_ptr<Region>> open_;
  std::vector<Definition> definitions_;  // by ValueId
  std::vector<bool> live_regions_;       // by serial
  std::vector<uint32_t> symbol_homes_;   // see has_value; by SymbolId, serials
  std::unordered_map<ValueId, std::vector<std::pair<uint32_t, SymbolId>>> opaque_;  // scalar -> (region serial, symbol)
  uint32_t memory_version_ = 0;                                                     // changes wherever memory may have
  int site_ = -1;
};

}  // namespace ferrule
