// The call plan: small records made once from a descriptor, walked at each call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "call/expr.h"
#include "ferrule/abi.h"

namespace ferrule {

// What an array argument does for symbols, in the order of its axes.
struct Step {
  enum class Kind : uint8_t {
    DefineExtent,  // symbols[symbol] = shape[axis]
    CheckExtent,   // shape[axis] must be symbols[symbol], which an earlier step defined; `index`: the check
    CheckGuard,    // the same for the guard `index`, which says that two extents are equal
    DefineStride,  // symbols[symbol] = stride of axis in elements; 0 where the axis has at most one element
    Solve,         // the symbol is an expression of the extent or stride; `index`: into CallPlan::solves
  };
  Kind kind;
  uint8_t axis;
  int32_t symbol;
  int32_t index;
};

struct Solve {
  bool stride;
  bool may_be_negative;
  PostfixExpr expr;
};

// A symbol that is an expression over earlier ones.
struct Derived {
  int32_t symbol;
  bool may_be_negative;
  PostfixExpr expr;
};

// An extent or stride (in elements) that must have the value of an expression.
struct Check {
  int32_t arg;
  uint8_t axis;
  bool stride;  // not tested where the axis has at most one element
  PostfixExpr expected;
};

// A symbol whose source is an optional array, and the other extents that tell it where that one is None, in order.
struct OptionalSource {
  struct Place {
    int32_t arg;
    uint8_t axis;
  };
  int32_t symbol, arg;
  std::vector<Place> others;
};

struct ArgPlan {
  const FrArg* declared;
  int32_t index;
  uint8_t kind;  // FrArgKind
  DType dtype;
  int32_t item;
  int32_t rank;
  uint8_t layout;      // FrLayout
  uint8_t inner_axis;  // of unit stride, FR_LAYOUT_INNER
  bool written, optional, hidden, weak;
  bool ranged;                    // a PairPlan names it
  int32_t symbol;                 // of an integer scalar; -1 where it has none
  int32_t alignment;              // bytes, of elements
  const FrRecord* record;         // what elements of dtype Record are
  int32_t callback;               // FR_ARG_CALLBACK: into CallPlan::callbacks
  const Step *steps, *steps_end;  // into CallPlan::steps
};

// What a callable is called with and what it gives: a scalar, or an object for DType::Object.
struct CallbackPlan {
  struct Parameter {
    const FrArg* declared;
    uint8_t kind;  // FR_ARG_SCALAR, FR_ARG_ARRAY or FR_ARG_OBJECT
    DType dtype;
    bool written;
    std::vector<PostfixExpr> extents;
  };
  std::vector<Parameter> parameters;
  bool has_result;
  DType result;
};

struct ReturnPlan {
  const FrReturn* declared;
  uint8_t kind;  // FrReturnKind
  DType dtype;
  int32_t rank;
  int32_t arg;
  uint32_t first_extent;  // into CallPlan::return_extents and Frame::extents; FR_RETURN_ARRAY
};

struct GuardPlan {
  const FrGuard* declared;
  PostfixExpr condition;
};

// A written array and another array, with the overlap that `run` allows (FrAliasClass, never FR_ALIAS_ANY).
struct PairPlan {
  uint16_t written, other;
  uint32_t allowed;
};

// Runs that are estimated to take longer are long: about 20 us of work. Other threads get the interpreter meanwhile,
// which costs 26 ns for releasing and taking its lock alone and up to a switch interval where others want it.
constexpr int64_t kLongWork = 20'000;

// Tells short runs without evaluating the estimate: it is at most kLongWork when all of `symbols` lie in [0, largest].
struct ShortWork {
  bool known = false;
  std::vector<int32_t> symbols;
  uint64_t largest = 0;
};

// Memory that the caller has given to the handle.
struct WorkspacePlan {
  const FrWorkspace* declared;
  PostfixExpr bytes;
};

struct ExplicitSymbol {
  int32_t symbol;
  int64_t value;
};

// Byte offsets of the arrays of a Frame in its block.
struct FrameLayout {
  uint32_t pointers, arrays, symbols, explicit_given, extents, bytes;
};

// Movable, not copyable: arguments point into `steps`.
struct CallPlan {
  CallPlan() = default;
  CallPlan(CallPlan&&) = default;
  CallPlan(const CallPlan&) = delete;

  const FrModule* module = nullptr;
  std::vector<ArgPlan> args;
  std::vector<ReturnPlan> returns;
  std::vector<Step> steps;
  std::vector<Solve> solves;
  std::vector<Derived> derived;  // in order
  std::vector<Check> checks;
  std::vector<int32_t> late_checks;  // those that no step makes
  std::vector<OptionalSource> optional_sources;
  std::vector<GuardPlan> guards;
  std::vector<int32_t> late_guards;  // those that no step makes
  std::vector<PairPlan> pairs;
  std::vector<CallbackPlan> callbacks;
  std::vector<PostfixExpr> return_extents;
  std::vector<int32_t> explicit_symbols;  // given by keyword only, and required
  std::vector<WorkspacePlan> workspaces;
  std::vector<int32_t> persistent;  // symbols that keep their value while the handle is initialised
  PostfixExpr arena_bytes, work;
  ShortWork short_work;
  FrameLayout frame{};
  uint32_t n_positional = 0;
  bool stateless = false, strict_scalars = false, returns_tuple = false;
  bool direct = false, direct_alias = false;  // neither state nor arena: `run`, `run_alias` is entered without more
  bool returns_none = false;                  // every call that succeeds gives None
  bool needs_python = false;     // arguments or results that only Python has: structs, texts, objects, callables
  bool involved = false;         // a run needs more than its results' memory: callbacks, owned objects, given memory
  bool return_override = false;  // callers may give the memory of returned arrays
  bool takes_errors = false;     // the program records errors of its own
  bool coerces = false;          // lists and tuples stand for arrays that are only read
  bool plain = false;            // all that follows the arguments' own checks is overlap
};

// Reads the whole descriptor and verifies it: expressions, indices, ranks, element types. Raises Incompatible for one
// that contradicts itself.
CallPlan make_plan(const FrModule& module);

// Verifies what only some kinds of arguments have (records, callbacks) and adds it to the plan of an argument; for
// make_plan() alone.
void plan_kind(CallPlan& plan, ArgPlan& arg);

// "smooth(a: float64[N, M], out: float64[N, M], w: float = 0.1) -> float64[N]", as error messages and help print it.
std::string signature_text(const FrModule& module);

}  // namespace ferrule
