// IR 2: loop nests over scalars and buffers. What lower makes, schedule rewrites and emit prints.
//
// A Nest is a perfect nest of rectangular loops around straight-line scalar code: loads, operations, stores, and
// optionally reductions over its innermost axes. A Nest without axes is scalar code. Statements run in order; the
// axes of a Nest are free to be reordered, split, vectorised or run in parallel only as its `order` says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "program/program.h"

namespace ferrule::loops {

// Where a buffer's memory comes from at run time.
enum class Place : uint8_t {
  Argument,  // FrCall::args[argument]
  Return,    // FrCall::args[n_args + ret], allocated by the host before the run
  Dynamic,   // alloc_return at a Make statement
  Constant,  // static const data in the module
  Arena,     // at an offset of FrCall::arena; assigned by schedule's `place`
  Scratch,   // size known only in the middle of a run: alloc_scratch at a Make statement
  Local,     // rank 0 (a scalar variable), or a small fixed-size array on the stack
  Pointer,   // a pointer variable, set by Bind; stands for one of `may_be`
  Alias,     // base + offset
};

struct Buffer {
  std::string name;  // a C++ identifier, unique
  DType dtype = DType::F64;
  std::vector<Expr> shape;
  std::vector<Expr> strides;  // elements; as many as the rank
  Place place = Place::Arena;
  int index = -1;                // Argument, Return, Dynamic: its number
  BufferId base = kNone;         // Alias
  Expr offset = 0;               // Alias: elements from the base; Arena: bytes
  std::vector<BufferId> may_be;  // Pointer: what it is bound to somewhere
  Expr slot_bytes = 0;           // Arena: bytes of one slot; set by `place`
  int slots = 1;                 // memories of this size of which its Make takes one that no avoided pointer is in
  std::vector<uint8_t> bytes;    // Constant
};

struct Access {
  BufferId buffer = kNone;
  std::vector<Expr> index;   // one per axis; affine in loop variables, within bounds
  std::optional<Expr> flat;  // instead of `index`: elements from the buffer's first, made by schedule's `collapse`
  bool operator==(const Access&) const = default;
};

enum class Code : uint8_t { Constant, Index, Load, Element, Cast, Store };

// One scalar operation. Registers are numbered within their Nest and assigned once.
struct Instr {
  Code code = Code::Constant;
  int dst = -1;              // all but Store
  std::vector<int> src;      // Element: operands; Cast, Store: [value]
  ElementOp op{};            // Element
  DType dtype = DType::F64;  // of dst; Store: of the value
  uint64_t bits = 0;         // Constant
  Expr expr;                 // Index: an int64 value
  Access access;             // Load, Store
};

enum class AxisKind : uint8_t { Parallel, Reduction };

// Variable from 0 up to extent - 1 (down when `descending`: an order that dependences demand).
struct Axis {
  SymbolId variable = kNone;
  Expr extent;
  AxisKind kind = AxisKind::Parallel;
  bool descending = false;
};

// target = combine over the reduction axes of register `value`, by the fixed tree.
struct Reduction {
  ReduceOp op{};
  DType dtype = DType::F64;
  int value = -1;
  Access target;  // index uses the parallel axes alone
};

// Which freedom the loops of a nest have.
enum class Order : uint8_t {
  Free,        // no iteration depends on another: any order, vectors, threads
  Sequential,  // lexicographic order of the axes (with their directions) must be kept
};

struct Nest {
  std::vector<Axis> axes;  // outermost first; reduction axes last
  Order order = Order::Free;
  std::vector<Instr> body;
  std::vector<Reduction> reductions;
  int site = -1;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct For {
  SymbolId variable = kNone;
  Expr lo, hi, step = 1;
  Block body;
};

// Repeats: run `test`, leave if the local `condition` is false, run `body`.
struct While {
  Block test;
  Access condition;
  Block body;
};

struct If {
  std::optional<Condition> condition;  // either this
  Access flag;                         // or a bool in memory
  Block then_block, else_block;
};

// The symbol takes the value of an integer in memory.
struct Define {
  SymbolId symbol = kNone;
  Access value;
};

// pointer variable = &access (its element type and strides agree with the pointer buffer's).
struct Bind {
  BufferId pointer = kNone;
  Access target;
};

// Several Binds at once (a swap).
struct BindAll {
  std::vector<Bind> binds;
};

// Makes the memory of a Dynamic or Scratch buffer whose shape has become known; its contents are then undefined. Of a
// buffer with several slots it takes one that none of `avoid` points into.
struct Make {
  BufferId buffer = kNone;
  std::vector<BufferId> avoid;  // Pointers
};

struct Check {
  std::optional<Condition> condition;
  Access flag;
  int code = 0;
  int site = -1;
  std::vector<Expr> values;  // up to four, for the message
};

struct Stmt {
  std::variant<Nest, For, While, If, Define, BindAll, Make, Check> node;
};

// What a call needs to know of a return; the descriptor's FrReturn comes from it.
struct Return {
  uint8_t kind = FR_RETURN_ARRAY;  // FrReturnKind
  DType dtype = DType::F64;
  bool weak = false;
  std::vector<Expr> shape;
  int argument = -1;          // Argument, View
  Expr byte_offset;           // View
  std::vector<Expr> strides;  // View, in elements
};

struct AliasPair {
  int written = 0, other = 0;
  int allowed = FR_ALIAS_DISJOINT;
};

struct Loops {
  std::string name;
  Symbols symbols;  // the Program's, and the loop variables made since
  std::vector<SymbolSource> sources;
  std::vector<Argument> arguments;  // the Program's
  std::vector<Guard> guards;
  std::vector<Buffer> buffers;
  Block body;
  std::vector<Return> returns;
  bool returns_tuple = false;
  bool alias_safe = false;  // right for every overlap of arguments
  bool bounds_check = true;
  std::vector<AliasPair> alias;                         // pairs that the call must test; empty when alias_safe
  std::vector<std::pair<BufferId, BufferId>> distinct;  // (a < b): share a root, never memory at the same time
  Expr arena_bytes = 0;
  Expr work = 0;  // scalar operations of a run, loops counted at their trip counts where known
};

// Readable text of it, for FERRULE_DUMP, ir("loops") and golden tests.
std::string print(const Loops& loops);
// Throws internal_error naming the first broken rule.
void verify(const Loops& loops);

}  // namespace ferrule::loops
