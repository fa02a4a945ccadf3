#include "program/op.h"

#include <iterator>

namespace ferrule {
namespace {

using enum OpFlags;

constexpr ElementOpInfo kElementOps[] = {
#define FR_ELEMENTWISE(id, arity, rule, cost, flags, numpy, doc) \
  {ElementOp::id, #id, arity, DTypeRule::rule, cost, flags, numpy, doc},
#include "program/ops.def"
};

constexpr ReduceOpInfo kReduceOps[] = {
#define FR_REDUCTION(id, combine, rule, identity, flags, numpy, doc) \
  {ReduceOp::id, #id, ElementOp::combine, DTypeRule::rule, Identity::identity, flags, numpy, doc},
#include "program/ops.def"
};

}  // namespace

const ElementOpInfo& info(ElementOp op) { return kElementOps[static_cast<size_t>(op)]; }
const ReduceOpInfo& info(ReduceOp op) { return kReduceOps[static_cast<size_t>(op)]; }
int element_op_count() { return static_cast<int>(std::size(kElementOps)); }
int reduce_op_count() { return static_cast<int>(std::size(kReduceOps)); }

std::optional<ElementOp> element_op_from_name(std::string_view name) {
  for (const ElementOpInfo& row : kElementOps)
    if (row.name == name) return row.op;
  return std::nullopt;
}

std::optional<ReduceOp> reduce_op_from_name(std::string_view name) {
  for (const ReduceOpInfo& row : kReduceOps)
    if (row.name == name) return row.op;
  return std::nullopt;
}

}  // namespace ferrule
