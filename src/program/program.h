// IR 1: what the user wrote. SSA over whole arrays and scalars, explicit memory effects, structured control flow.
//
// Three kinds of values:
//   Scalar  a number of one dtype (weak: it came from a Python number)
//   Array   an immutable array value without an address: the result of an operation
//   View    an address: an affine window onto a buffer, read by Load and written by Store
// Memory is touched by Load, Store (and Alloc, which makes a buffer) alone, in program order. An operand of an
// element-wise operation is a Scalar, or an Array of exactly the result's shape; broadcasting and slicing of Arrays is
// an explicit Remap, of Views an explicit View.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "index/expr.h"
#include "index/facts.h"
#include "program/op.h"

namespace ferrule {

using ValueId = uint32_t;
using BufferId = uint32_t;
inline constexpr uint32_t kNone = 0xffffffffu;

// One result axis that moves through a source axis by `step` elements an index.
struct AxisTerm {
  int axis = 0;
  Expr step = 1;
  bool operator==(const AxisTerm&) const = default;
};

// Index into one source axis: start + sum of step * (index of result axis).
struct AxisMap {
  Expr start = 0;
  std::vector<AxisTerm> terms;  // ascending by axis
  bool operator==(const AxisMap&) const = default;
};

// How a window of shape `shape` looks at a source: one AxisMap for each axis of the source. A result axis in no term
// is broadcast. Every index that it produces lies within the source (the maker has proved, guarded or checked it).
struct IndexMap {
  std::vector<Expr> shape;
  std::vector<AxisMap> axes;
  bool operator==(const IndexMap&) const = default;

  static IndexMap identity(const std::vector<Expr>& shape);
  // The map that looks through `outer` at what `this` shows: result axes of `outer`, source axes of `this`.
  IndexMap then(const IndexMap& outer) const;
  bool is_identity(const std::vector<Expr>& source_shape) const;
};

enum class ValueKind : uint8_t { Scalar, Array, View };

struct ValueType {
  ValueKind kind = ValueKind::Scalar;
  DType dtype = DType::F64;
  bool weak = false;        // Scalar: a Python bool, int or float
  std::vector<Expr> shape;  // Array, View
  BufferId buffer = kNone;  // View
  IndexMap map;             // View; map.shape == shape
};

enum class Storage : uint8_t {
  Argument,   // the caller's memory
  Constant,   // known bytes, C order
  Transient,  // made by Alloc; lives for the call
  Carried,    // a pointer that changes: region parameters of View type; stands for one of several buffers
  Alias,      // other axes over the memory of `base`: reshapes that split or merge axes
};

struct Buffer {
  std::string name;
  DType dtype = DType::F64;
  std::vector<Expr> shape;
  std::vector<Expr> strides;  // in elements; empty: dense C order
  Storage storage = Storage::Transient;
  int argument = -1;           // Argument: index into Program::arguments
  BufferId base = kNone;       // Alias: the buffer whose memory it is
  Expr offset = 0;             // Alias: elements from the base's first element, by the base's strides
  std::vector<uint8_t> bytes;  // Constant
  // Carried: the Argument, Constant and Transient buffers that it may stand for, ascending; in a program under
  // construction also other Carried and Alias buffers, until ProgramBuilder::finish closes the list.
  std::vector<BufferId> may_be;
};

enum class OpKind : uint8_t {
  Constant,     // -> scalar: dtype, bits
  Size,         // -> scalar int64 (weak): expr
  Symbolize,    // [integer scalar] -> none: defines the opaque symbol `symbol` from a run-time value
  Elementwise,  // [operands] -> array or scalar: element_op; operand dtypes are the compute dtypes already
  Cast,         // [x] -> same shape, dtype (a scalar of the same dtype: weak or strong)
  Iota,         // -> array int64: map.shape, the index along axes[0]
  Fill,         // [scalar] -> array of map.shape, every element the scalar
  Remap,        // [array] -> array (rank 0: scalar): map (slices, broadcasts, transposes of array values)
  View,         // [view], or nothing for a Constant buffer -> view: the composed view is in the result's type
  Load,         // [view] -> array (rank 0: scalar): reads the window now
  Store,        // [view, array or scalar] -> none: same dtype; an array has the window's shape
  Alloc,        // -> view of the whole of `buffer`, contents undefined
  Reduce,       // [array] -> array without `axes` (all axes: scalar): reduce_op, ascending axes; dtype already widened
  Check,        // [bool scalar] or `condition` -> none: traps with `code`, `site` where false
  For,          // [initial values] -> final values: symbol runs from lo by step (a nonzero constant, or positive) to hi
  While,        // [initial values] -> final values: regions[0] yields the bool, regions[1] the next values
  If,           // [bool scalar] or `condition` -> joined values: regions[0], regions[1]
};

struct Op;

// Straight-line operations with parameters and yields. The top region has neither.
struct Region {
  std::vector<ValueId> params;
  std::vector<Op> ops;
  std::vector<ValueId> yields;
};

struct Op {
  OpKind kind = OpKind::Constant;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  ElementOp element_op{};
  ReduceOp reduce_op{};
  DType dtype = DType::F64;
  uint64_t bits = 0;      // Constant: the value's bytes, zero-extended
  std::vector<int> axes;  // Reduce, Iota
  IndexMap map;           // Remap, Iota, Fill
  Expr expr;              // Size
  Expr lo, hi, step = 1;  // For
  SymbolId symbol = kNone;
  BufferId buffer = kNone;
  std::optional<Condition> condition;  // Check, If
  int code = 0;                        // Check: FrErrorCode
  int site = -1;                       // where in the user's source; index into Program::sites
  std::vector<Region> regions;
};

// Of a Check, what an error that it records tells: up to four values, as FrErrorCode says for its code.
std::vector<Expr> values_of_check(const Op& op);

enum class ArgumentKind : uint8_t { Array, Scalar, Static };

enum class Layout : uint8_t { C = FR_LAYOUT_C, F = FR_LAYOUT_F, Inner = FR_LAYOUT_INNER, Any = FR_LAYOUT_ANY };

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::Array;
  DType dtype = DType::F64;
  BufferId buffer = kNone;    // Array
  ValueId value = kNone;      // Array: the view of the whole; Scalar: the scalar
  SymbolId symbol = kNone;    // Scalar: the symbol of a weak int
  bool weak = false;          // Scalar
  bool written = false;       // Array; set by the builder at the first store that may reach it
  bool read = false;          // Array
  Layout layout = Layout::C;  // Array
  int inner_axis = 0;
  bool hidden = false;  // a global array
  bool keyword_only = false;
  std::string default_text;  // Python literal; empty: required
  std::string static_text;   // Static: repr of the value
};

// Where a symbol's value comes from at a call.
struct SymbolSource {
  SymbolId symbol = kNone;
  uint8_t source = FR_SYMBOL_EXTENT;  // FrSymbolSource
  int argument = -1;
  int axis = 0;
  // value of the source = coefficient * symbol + offset
  int64_t coefficient = 1;
  int64_t offset = 0;
};

struct Guard {
  Condition condition;
  std::string text;  // in the user's names
  bool compares_sources = false;
};

enum class ResultKind : uint8_t { Value, Argument, None };

struct Result {
  ResultKind kind = ResultKind::Value;
  ValueId value = kNone;  // Scalar, Array (fresh), or View of an argument's buffer
  int argument = -1;
};

struct Site {
  std::string file;
  int line = 0;
  std::string function;
  std::string what;  // the construct or message, for traps
  int caller = -1;   // site of the call that led here
};

struct Program {
  std::string name;
  Symbols symbols;
  std::vector<SymbolSource> sources;  // in the order in which a call defines them
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<ValueType> values;  // by ValueId
  Region body;
  std::vector<Result> results;
  bool returns_tuple = false;
  std::vector<Guard> guards;
  std::vector<Site> sites;  // not part of the text form or of any key
  bool bounds_check = true;
  bool arguments_may_alias = false;  // compiled for any overlap of arguments

  const ValueType& type(ValueId id) const { return values[id]; }
};

}  // namespace ferrule
