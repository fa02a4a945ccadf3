#include <fmt/format.h>

#include "base/error.h"
#include "program/evaluator.h"
#include "program/fold.h"

namespace ferrule::evaluation {

void Evaluator::bind_symbols(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars) {
  for (const SymbolSource& s : p_.sources) {
    if (s.source == FR_SYMBOL_EXPLICIT) throw unsupported("The evaluator takes no explicit symbols.");
    const Argument& argument = p_.arguments[s.argument];
    int64_t value = 0;
    if (s.source == FR_SYMBOL_SCALAR) {
      value = static_cast<int64_t>(convert_bits(argument.dtype, DType::I64, scalars.at(s.argument)));
    } else {
      const EvalArray& array = arrays.at(s.argument);
      check_rank(argument, array);
      value = s.source == FR_SYMBOL_EXTENT ? array.shape[s.axis] : array.strides[s.axis];
    }
    if ((value - s.offset) % s.coefficient != 0)
      throw user_error(fmt::format("{} of argument '{}' does not give a whole '{}'.", value, argument.name,
                                   p_.symbols[s.symbol].name));
    symbols_[s.symbol] = (value - s.offset) / s.coefficient;
  }
  for (size_t i = 0; i < p_.arguments.size(); ++i) {
    const Argument& argument = p_.arguments[i];
    if (argument.symbol != kNone)
      symbols_[argument.symbol] = static_cast<int64_t>(convert_bits(argument.dtype, DType::I64, scalars.at(i)));
  }
}

void Evaluator::check_rank(const Argument& argument, const EvalArray& array) const {
  const size_t rank = p_.buffers[argument.buffer].shape.size();
  if (array.shape.size() != rank || array.strides.size() != rank)
    throw user_error(fmt::format("Argument '{}' must have {} axes, got {}.", argument.name, rank, array.shape.size()));
}

void Evaluator::bind_arguments(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars) {
  for (size_t i = 0; i < p_.arguments.size(); ++i) {
    const Argument& argument = p_.arguments[i];
    if (argument.kind == ArgumentKind::Scalar) set_scalar(argument.value, scalars.at(i));
    if (argument.kind != ArgumentKind::Array) continue;
    const EvalArray& array = arrays.at(i);
    check_rank(argument, array);
    const Buffer& buffer = p_.buffers[argument.buffer];
    const Indices shape = numbers(buffer.shape), strides = strides_of(argument.buffer);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (array.shape[axis] != shape[axis])
        throw user_error(fmt::format("'{}': shape[{}] = {}, but {} was expected.", argument.name, axis,
                                     array.shape[axis], shape[axis]));
      if (count_of(shape) != 0 && shape[axis] > 1 && array.strides[axis] != strides[axis])
        throw user_error(fmt::format("'{}': strides[{}] = {} elements, but its layout has {}.", argument.name, axis,
                                     array.strides[axis], strides[axis]));
    }
    bind_memory(i, array.data);
  }
}

void Evaluator::bind_memory(size_t i, void* data) {
  const Argument& argument = p_.arguments[i];
  const Indices shape = numbers(p_.buffers[argument.buffer].shape), strides = strides_of(argument.buffer);
  Window window{{static_cast<uint8_t*>(data), 0, -1, static_cast<int>(i), nullptr}, 0, shape, strides};
  if (count_of(shape) != 0) {
    window.memory.highest = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t reach = (shape[axis] - 1) * strides[axis];
      (reach < 0 ? window.memory.lowest : window.memory.highest) += reach;
    }
  }
  buffers_[argument.buffer] = std::move(window);
  set_view(argument.value);
}

}  // namespace ferrule::evaluation
