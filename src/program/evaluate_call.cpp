#include "program/evaluate_call.h"

#include <cstring>
#include <string_view>

#include "base/error.h"
#include "program/evaluator.h"
#include "program/program_text.h"
#include "program/visit.h"

namespace ferrule {
namespace evaluation {

Evaluator::Evaluator(const Program& program, const FrCall& call) : Evaluator(program) {
  for (size_t slot = 0; slot < p_.sources.size(); ++slot) symbols_[p_.sources[slot].symbol] = call.symbols[slot];
  for (size_t i = 0; i < p_.arguments.size(); ++i) {
    const Argument& argument = p_.arguments[i];
    if (argument.kind == ArgumentKind::Array) bind_memory(i, call.args[i]);
    if (argument.kind == ArgumentKind::Scalar)
      set_scalar(argument.value, read_bits(static_cast<const uint8_t*>(call.args[i]), item_size(argument.dtype)));
  }
}

int32_t Evaluator::give_view(const FrCall& call, int32_t place, const EvalValue& from) const {
  const Window& window = from.window;
  return call.host->view_return(call.ctx, place, window.memory.argument, window.offset * item_size(from.dtype),
                                static_cast<int32_t>(window.shape.size()), window.shape.data(), window.strides.data());
}

int32_t Evaluator::give_elements(const FrCall& call, int32_t place, const EvalValue& from, bool is_view,
                                 bool is_dynamic) const {
  const Indices& shape = is_view ? from.window.shape : from.shape;
  void* to = call.args[p_.arguments.size() + static_cast<size_t>(place)];
  if (is_dynamic) to = call.host->alloc_return(call.ctx, place, static_cast<int32_t>(shape.size()), shape.data());
  if (to == nullptr) return FR_STATUS_ERROR;
  if (is_view)
    read(from.window, from.dtype, static_cast<uint8_t*>(to));
  else if (!from.bytes.empty())
    std::memcpy(to, from.bytes.data(), from.bytes.size());
  return FR_OK;
}

int32_t Evaluator::give(const FrCall& call, std::span<const uint8_t> kinds) {
  for (size_t i = 0; i < p_.results.size(); ++i) {
    const uint8_t kind = kinds[i];
    if (kind == FR_RETURN_NONE || kind == FR_RETURN_ARGUMENT) continue;
    const ValueId id = p_.results[i].value;
    const auto place = static_cast<int32_t>(i);
    const bool is_view = p_.values[id].kind == ValueKind::View;
    const int32_t status = kind == FR_RETURN_VIEW
                               ? give_view(call, place, value(id))
                               : give_elements(call, place, value(id), is_view, kind == FR_RETURN_DYNAMIC);
    if (status != FR_OK) return status;
  }
  return FR_OK;
}

namespace {

// The text form has no sites.
void number_sites(Program& program, const FrProgram& from) {
  uint32_t next = 0;
  for_each_op(program.body, [&](Op& op) {
    if (op.kind != OpKind::Check) return;
    if (next == from.n_sites) throw internal_error("The text of a program has more checks than sites.");
    op.site = from.sites[next++];
  });
}

}  // namespace
}  // namespace evaluation

int32_t evaluate_call(const FrCall& call, const FrProgram& text, std::span<const uint8_t> kinds) {
  Program program = parse_program(std::string_view(text.text, static_cast<size_t>(text.length)));
  evaluation::number_sites(program, text);
  evaluation::Evaluator evaluator(program, call);
  try {
    evaluator.run();
  } catch (const EvalTrap& trap) {
    call.host->set_error(call.ctx, trap.code, trap.site, trap.values);
    return FR_STATUS_ERROR;
  }
  return evaluator.give(call, kinds);
}

}  // namespace ferrule
