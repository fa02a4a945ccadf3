#include <algorithm>

#include "base/error.h"
#include "program/promote.h"
#include "program/verifier.h"
#include "program/visit.h"

namespace ferrule {

void Verifier::arity(size_t operands, size_t results) const {
  require(current_->operands.size() == operands && current_->results.size() == results,
          "an operation has its operands and results");
  for (const ValueId id : current_->results) require(id < p_.values.size(), "a value lies in the program's table");
}

void Verifier::operation(const Op& op) {
  for_each_expr_of_op(op, [&](const Expr& e) { in_scope(e); });
  if (op.condition)
    require(op.operands.empty() || op.kind == OpKind::Check || op.kind == OpKind::If,
            "conditions are of checks and ifs");
  for (const ValueId id : op.operands) use(id);
  switch (op.kind) {
    case OpKind::Constant:
      constant(op);
      break;
    case OpKind::Size:
      arity(0, 1);
      require(result_type().kind == ValueKind::Scalar && result_type().dtype == DType::I64,
              "a size is an int64 scalar");
      break;
    case OpKind::Symbolize:
      symbolize(op);
      break;
    case OpKind::Elementwise:
      elementwise(op);
      break;
    case OpKind::Cast:
      cast(op);
      break;
    case OpKind::Iota:
      iota(op);
      break;
    case OpKind::Fill:
      fill(op);
      break;
    case OpKind::Remap:
      remap(op);
      break;
    case OpKind::View:
      view(op);
      break;
    case OpKind::Load:
      load();
      break;
    case OpKind::Store:
      store();
      break;
    case OpKind::Alloc:
      alloc(op);
      break;
    case OpKind::Reduce:
      reduce(op);
      break;
    case OpKind::Check:
      arity(op.condition ? 0 : 1, 0);
      test(op);
      break;
    case OpKind::For:
      for_loop(op);
      break;
    case OpKind::While:
      while_loop(op);
      break;
    case OpKind::If:
      if_else(op);
      break;
  }
}

void Verifier::constant(const Op& op) const {
  arity(0, 1);
  require(result_type().kind == ValueKind::Scalar && result_type().dtype == op.dtype,
          "a constant is a scalar of its dtype");
  require(item_size(op.dtype) == 8 || op.bits >> (8 * item_size(op.dtype)) == 0,
          "the bits of a constant fit its dtype");
  require(op.dtype != DType::Bool || op.bits <= 1, "a bool is 0 or 1");
}

void Verifier::symbolize(const Op& op) const {
  arity(1, 0);
  require(operand(0).kind == ValueKind::Scalar && operand(0).dtype == DType::I64,
          "a symbol takes the value of an int64 scalar");
  require(p_.symbols[op.symbol].kind == SymbolKind::Opaque, "a symbol with a run-time value is opaque");
  require(!symbol_in_scope_[op.symbol], "a symbol is defined once");
}

void Verifier::elementwise(const Op& op) const {
  arity(info(op.element_op).arity, 1);
  std::vector<OperandType> operands;
  bool scalar = true;
  for (const ValueId id : op.operands) {
    const ValueType& t = p_.values[id];
    require(t.kind != ValueKind::View, "an operand is a value, not an address");
    if (t.kind == ValueKind::Array)
      require(equal(t.shape, result_type().shape), "an array operand has the result's shape");
    scalar = scalar && t.kind == ValueKind::Scalar;
    operands.push_back({t.dtype, false});
  }
  require(result_type().kind == (scalar ? ValueKind::Scalar : ValueKind::Array),
          "scalars give a scalar, arrays an array");
  OpTypes types;
  try {
    types = infer(op.element_op, operands);
  } catch (const Error& error) {
    broken(error.what());
  }
  for (size_t i = 0; i < operands.size(); ++i)
    require(types.operands[i] == operands[i].dtype, "operands have the dtype that the operation computes with");
  require(types.result == result_type().dtype, "the result has the dtype of the table");
}

void Verifier::cast(const Op& op) const {
  arity(1, 1);
  require(operand(0).kind != ValueKind::View && operand(0).kind == result_type().kind &&
              equal(operand(0).shape, result_type().shape),
          "a cast keeps the shape");
  require(result_type().dtype == op.dtype, "a cast gives its dtype");
}

void Verifier::iota(const Op& op) const {
  arity(0, 1);
  require(result_type().kind == ValueKind::Array && result_type().dtype == DType::I64, "indices are an int64 array");
  require(op.axes.size() == 1 && op.axes[0] >= 0 && op.axes[0] < static_cast<int>(result_type().shape.size()),
          "the axis of indices exists");
  require(equal(op.map.shape, result_type().shape), "indices have the shape of their map");
}

void Verifier::fill(const Op& op) const {
  arity(1, 1);
  require(operand(0).kind == ValueKind::Scalar && result_type().kind == ValueKind::Array &&
              operand(0).dtype == result_type().dtype,
          "a fill repeats a scalar of its dtype");
  require(equal(op.map.shape, result_type().shape), "a fill has the shape of its map");
}

void Verifier::remap(const Op& op) const {
  arity(1, 1);
  require(operand(0).kind == ValueKind::Array && operand(0).dtype == result_type().dtype,
          "a remap looks at an array of its dtype");
  require(result_type().kind != ValueKind::View && equal(op.map.shape, result_type().shape),
          "a remap has the shape of its map");
  map(op.map, operand(0).shape.size());
}

void Verifier::reduce(const Op& op) const {
  arity(1, 1);
  const ValueType& t = operand(0);
  require(t.kind == ValueKind::Array && t.dtype == op.dtype && result_type().dtype == op.dtype,
          "a reduction has one dtype");
  require(result_type().kind != ValueKind::View, "a reduction gives a value");
  require(!op.axes.empty() && op.axes.front() >= 0 && op.axes.back() < static_cast<int>(t.shape.size()) &&
              std::adjacent_find(op.axes.begin(), op.axes.end(), [](int a, int b) { return a >= b; }) == op.axes.end(),
          "the axes of a reduction ascend within the operand's");
  std::vector<Expr> shape;
  for (size_t i = 0; i < t.shape.size(); ++i)
    if (!std::binary_search(op.axes.begin(), op.axes.end(), static_cast<int>(i))) shape.push_back(t.shape[i]);
  require(equal(shape, result_type().shape), "a reduction drops its axes");
  const DTypeRule rule = info(op.reduce_op).rule;
  require(rule != DTypeRule::Logical || op.dtype == DType::Bool, "a logical reduction is of booleans");
  require(rule != DTypeRule::Bitwise || op.dtype == DType::Bool || is_integer(op.dtype),
          "a reduction of bits is of integers");
}

}  // namespace ferrule
