#include <fmt/format.h>

#include <cstdlib>
#include <new>

#include "base/error.h"
#include "program/evaluator.h"

namespace ferrule::evaluation {
namespace {

uint8_t* address(const Window& window, const Indices& index, DType dtype) {
  int64_t at = window.offset;
  for (size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * window.strides[axis];
  if (at < window.memory.lowest || at > window.memory.highest)
    throw internal_error(fmt::format("The program touches element {} of memory with elements {} to {}.", at,
                                     window.memory.lowest, window.memory.highest));
  return window.memory.first + at * item_size(dtype);
}

// Whether the system promises so much memory, asked without an exception: at one of an allocation AddressSanitizer ends
// the process. Small amounts are not worth the question.
bool can_be_had(int64_t bytes) {
  if (bytes < int64_t{1} << 30) return true;
  void* volatile memory = std::malloc(static_cast<size_t>(bytes));  // the compiler takes one that is not used for had
  const bool had = memory != nullptr;
  std::free(memory);
  return had;
}

}  // namespace

std::vector<uint8_t> bytes_for(DType dtype, const Indices& shape, uint8_t fill) {
  int64_t bytes = 0;
  EvalTrap trap{.code = FR_ERR_MEMORY};
  if (__builtin_mul_overflow(count_of(shape), item_size(dtype), &bytes)) bytes = -1;
  trap.values[0] = bytes;
  if (bytes < 0 || !can_be_had(bytes)) throw trap;
  try {
    return std::vector<uint8_t>(static_cast<size_t>(bytes), fill);
  } catch (const std::bad_alloc&) {
    throw trap;
  }
}

void Evaluator::own_memory(BufferId id, std::vector<uint8_t> bytes) {
  Window window;
  window.memory.owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  window.memory.first = window.memory.owner->data();
  window.memory.highest = static_cast<int64_t>(window.memory.owner->size()) / item_size(p_.buffers[id].dtype) - 1;
  window.shape = numbers(p_.buffers[id].shape);
  window.strides = strides_of(id);
  buffers_[id] = std::move(window);
}

Indices Evaluator::strides_of(BufferId id) const {
  const Buffer& buffer = p_.buffers[id];
  if (!buffer.strides.empty()) return numbers(buffer.strides);
  Indices strides(buffer.shape.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * number(buffer.shape[i]);
  return strides;
}

Window Evaluator::buffer_window(BufferId id) const {
  const Buffer& buffer = p_.buffers[id];
  if (buffer.storage != Storage::Alias) {
    if (buffers_[id].memory.first == nullptr && buffers_[id].memory.highest >= 0)
      throw internal_error(fmt::format("The buffer '{}' is used before it exists.", buffer.name));
    return buffers_[id];
  }
  Window window = buffer_window(buffer.base);
  window.offset += number(buffer.offset);
  window.shape = numbers(buffer.shape);
  window.strides = numbers(buffer.strides);
  return window;
}

void Evaluator::set_view(ValueId id) {
  const ValueType& type = p_.values[id];
  const Window source = buffer_window(type.buffer);
  Window window{source.memory, source.offset, numbers(type.shape), Indices(type.shape.size(), 0)};
  for (size_t axis = 0; axis < type.map.axes.size(); ++axis) {
    const AxisMap& map = type.map.axes[axis];
    window.offset += number(map.start) * source.strides[axis];
    for (const AxisTerm& term : map.terms) window.strides[term.axis] += number(term.step) * source.strides[axis];
  }
  values_[id].dtype = type.dtype;
  values_[id].window = std::move(window);
}

void Evaluator::read(const Window& window, DType dtype, uint8_t* to) {
  const size_t size = static_cast<size_t>(item_size(dtype));
  for_each_index(window.shape, [&](const Indices& index) {
    std::memcpy(to, address(window, index, dtype), size);
    to += size;
  });
}

void Evaluator::load(const Op& op) {
  EvalValue v = fresh(p_.values[op.results[0]]);
  read(value(op.operands[0]).window, v.dtype, v.bytes.data());
  values_[op.results[0]] = std::move(v);
}

void Evaluator::store(const Op& op) {
  const Window& window = value(op.operands[0]).window;
  const EvalValue& x = value(op.operands[1]);
  const bool array = p_.values[op.operands[1]].kind == ValueKind::Array;
  if (array && x.shape != window.shape) throw internal_error("A stored array has another shape than its target.");
  const size_t size = static_cast<size_t>(item_size(x.dtype));
  const uint8_t* from = x.bytes.data();
  for_each_index(window.shape, [&](const Indices& index) {
    std::memcpy(address(window, index, x.dtype), from, size);
    if (array) from += size;
  });
}

void Evaluator::alloc(const Op& op) {
  const Indices shape = numbers(p_.buffers[op.buffer].shape);
  for (const int64_t extent : shape)
    if (extent < 0)
      throw internal_error(fmt::format("The buffer '{}' has a negative extent.", p_.buffers[op.buffer].name));
  // Undefined contents: bytes that show when something reads them.
  own_memory(op.buffer, bytes_for(p_.buffers[op.buffer].dtype, shape, 0xA5));
  set_view(op.results[0]);
}

}  // namespace ferrule::evaluation
