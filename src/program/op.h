// The operations of the table ops.def as enumerations, with their facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ferrule {

enum class ElementOp : uint8_t {
#define FR_ELEMENTWISE(id, arity, rule, cost, flags, numpy, doc) id,
#include "program/ops.def"
};

enum class ReduceOp : uint8_t {
#define FR_REDUCTION(id, combine, rule, identity, flags, numpy, doc) id,
#include "program/ops.def"
};

// How operand dtypes are promoted and what the result is.
enum class DTypeRule : uint8_t {
  Same,            // promoted; result likewise; booleans stay booleans
  SameNoBool,      // the same, a TypeError for booleans
  Number,          // the same, booleans become int8
  Integer,         // integers only (booleans become int8)
  TrueDivide,      // float; integers become float64
  FloatPower,      // at least float64
  Float,           // float; bool, int8, uint8 -> float16; 16 bits -> float32; wider -> float64
  FloatToI32,      // operand as Float, result int32
  Ldexp,           // (Float, integer) -> float
  Rounding,        // integers and booleans stay, floats stay
  Select,          // (bool, x, y): x and y promoted
  Compare,         // promoted (int64 with uint64 exactly); result bool
  Logical,         // operands as bool; result bool
  Bitwise,         // integers and booleans
  Shift,           // integers, booleans become int8
  BitCount,        // integer -> uint8
  Predicate,       // any number -> bool
  FloatPredicate,  // operand as Float -> bool
  Sum,             // reductions: bool and signed -> int64, unsigned -> uint64, floats stay
};

enum OpFlags : uint8_t {
  kNoFlags = 0,
  Commutative = 1,
  Idempotent = 2,  // f(f(x)) == f(x)
  Exact = 4,       // a reduction whose result does not depend on the order
};

enum class Identity : uint8_t { None, Zero, One, AllOnes };

struct ElementOpInfo {
  ElementOp op;
  std::string_view name;  // id of the table: text form and functor fr::<name>
  int arity;
  DTypeRule rule;
  int cost;
  uint8_t flags;
  std::string_view numpy;  // NumPy names, space separated
  std::string_view doc;
};

struct ReduceOpInfo {
  ReduceOp op;
  std::string_view name;
  ElementOp combine;
  DTypeRule rule;
  Identity identity;
  uint8_t flags;
  std::string_view numpy;
  std::string_view doc;
};

const ElementOpInfo& info(ElementOp op);
const ReduceOpInfo& info(ReduceOp op);
int element_op_count();
int reduce_op_count();
std::optional<ElementOp> element_op_from_name(std::string_view name);
std::optional<ReduceOp> reduce_op_from_name(std::string_view name);

}  // namespace ferrule
