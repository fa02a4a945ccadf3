#include "program/normalize.h"
#include "program/verifier.h"
#include "program/visit.h"

namespace ferrule {

void Verifier::view(const Op& op) const {
  arity(op.operands.size(), 1);
  require(result_type().kind == ValueKind::View, "a view is an address");
  if (op.operands.empty()) {
    require(p_.buffers[result_type().buffer].storage == Storage::Constant, "a view of nothing is of a constant");
    return;
  }
  require(op.operands.size() == 1 && operand(0).kind == ValueKind::View, "a view looks through one view");
  require(memory(operand(0).buffer) == memory(result_type().buffer),
          "a view stays in the memory of the view that it looks through");
}

void Verifier::load() const {
  arity(1, 1);
  require(operand(0).kind == ValueKind::View && operand(0).dtype == result_type().dtype,
          "a load reads a view of its dtype");
  require(result_type().kind != ValueKind::View && equal(operand(0).shape, result_type().shape),
          "a load has the view's shape");
}

void Verifier::store() const {
  arity(2, 0);
  require(operand(0).kind == ValueKind::View && operand(1).kind != ValueKind::View,
          "a store writes a value through a view");
  require(operand(0).dtype == operand(1).dtype, "a store converts nothing");
  require(operand(1).kind == ValueKind::Scalar || equal(operand(0).shape, operand(1).shape),
          "a stored array has the view's shape");
  for (const BufferId root : roots_of(p_, operand(0).buffer))
    require(p_.buffers[root].storage != Storage::Constant, "a constant is not written");
}

void Verifier::alloc(const Op& op) {
  arity(0, 1);
  require(op.buffer < p_.buffers.size() && p_.buffers[op.buffer].storage == Storage::Transient,
          "an allocation makes a transient buffer");
  require(allocated_.insert(op.buffer).second, "a buffer is allocated once");
  require(result_type().kind == ValueKind::View && result_type().buffer == op.buffer,
          "an allocation gives a view of its buffer");
  for_each_expr_of_buffer(p_.buffers[op.buffer], [&](const Expr& e) { in_scope(e); });
}

}  // namespace ferrule
