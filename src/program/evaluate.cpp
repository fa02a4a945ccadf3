#include "program/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/evaluator.h"
#include "program/visit.h"

namespace ferrule {
namespace evaluation {

Evaluator::Evaluator(const Program& program)
    : p_(program), values_(program.values.size()), buffers_(program.buffers.size()), symbols_(program.symbols.size()) {
  for_each_op(p_.body, [&](const Op& op) {
    if (op.kind == OpKind::For || op.kind == OpKind::Symbolize) local_symbols_.insert(op.symbol);
  });
}

Evaluator::Evaluator(const Program& program, const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars)
    : Evaluator(program) {
  bind_symbols(arrays, scalars);
  bind_arguments(arrays, scalars);
  for (const Guard& guard : p_.guards)
    if (!ferrule::evaluate(guard.condition, symbols_))
      throw user_error(fmt::format("The guard '{}' does not hold.", guard.text));
}

void Evaluator::run() {
  for (BufferId id = 0; id < p_.buffers.size(); ++id)
    if (p_.buffers[id].storage == Storage::Constant) own_memory(id, p_.buffers[id].bytes);
  region(p_.body);
}

EvalOutcome Evaluator::outcome() {
  EvalOutcome outcome;
  try {
    run();
    for (const Result& r : p_.results) outcome.results.push_back(result(r));
  } catch (const EvalTrap& trap) {
    outcome.trap = trap;
  }
  return outcome;
}

void Evaluator::region(const Region& r) {
  for (const Op& op : r.ops) operation(op);
}

void Evaluator::operation(const Op& op) {
  switch (op.kind) {
    case OpKind::Constant:
      return set_scalar(op.results[0], op.bits);
    case OpKind::Size:
      return set_scalar(op.results[0], static_cast<uint64_t>(number(op.expr)));
    case OpKind::Symbolize:
      symbols_[op.symbol] = static_cast<int64_t>(scalar(op.operands[0]));
      return;
    case OpKind::Elementwise:
      return elementwise(op);
    case OpKind::Cast:
      return cast(op);
    case OpKind::Iota:
      return iota(op);
    case OpKind::Fill:
      return fill(op);
    case OpKind::Remap:
      return remap(op);
    case OpKind::View:
      return set_view(op.results[0]);
    case OpKind::Load:
      return load(op);
    case OpKind::Store:
      return store(op);
    case OpKind::Alloc:
      return alloc(op);
    case OpKind::Reduce:
      return reduce(op);
    case OpKind::Check:
      return check(op);
    case OpKind::For:
      return for_loop(op);
    case OpKind::While:
      return while_loop(op);
    case OpKind::If:
      return if_else(op);
  }
}

void Evaluator::check(const Op& op) {
  if (holds(op)) return;
  EvalTrap trap{.code = op.code, .site = op.site};
  const Indices values = numbers(values_of_check(op));
  std::copy(values.begin(), values.end(), trap.values);
  throw trap;
}

Indices Evaluator::numbers(const std::vector<Expr>& exprs) const {
  Indices result;
  for (const Expr& e : exprs) result.push_back(number(e));
  return result;
}

void Evaluator::set_scalar(ValueId id, uint64_t bits) {
  EvalValue& v = values_[id];
  v.dtype = p_.values[id].dtype;
  v.bytes.resize(static_cast<size_t>(item_size(v.dtype)));
  std::memcpy(v.bytes.data(), &bits, v.bytes.size());
}

EvalValue Evaluator::fresh(const ValueType& type) const {
  EvalValue v{.dtype = type.dtype, .shape = numbers(type.shape)};
  v.bytes = bytes_for(v.dtype, v.shape);
  return v;
}

EvalResult Evaluator::result(const Result& r) {
  if (r.kind == ResultKind::None) return {};
  if (r.kind == ResultKind::Argument) return {.dtype = p_.arguments[r.argument].dtype, .argument = r.argument};
  const ValueType& type = p_.values[r.value];
  const EvalValue& v = value(r.value);
  if (type.kind != ValueKind::View) return {.dtype = type.dtype, .shape = v.shape, .bytes = v.bytes};
  return {.dtype = type.dtype,
          .shape = v.window.shape,
          .argument = v.window.memory.argument,
          .is_view = true,
          .offset = v.window.offset,
          .strides = v.window.strides};
}

}  // namespace evaluation

EvalOutcome evaluate(const Program& program, const std::vector<EvalArray>& arrays,
                     const std::vector<uint64_t>& scalars) {
  return evaluation::Evaluator(program, arrays, scalars).outcome();
}

}  // namespace ferrule
