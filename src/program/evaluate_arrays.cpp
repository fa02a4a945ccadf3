#include <fmt/format.h>

#include <bit>
#include <limits>

#include "base/error.h"
#include "program/evaluator.h"
#include "program/fold.h"

namespace ferrule::evaluation {
namespace {

// Halves until single elements are left: float sums lose little.
uint64_t combine(ElementFunction function, std::span<const uint64_t> elements) {
  if (elements.size() == 1) return elements[0];
  const size_t half = elements.size() / 2;
  const uint64_t operands[2] = {combine(function, elements.first(half)), combine(function, elements.subspan(half))};
  return function(operands);
}

// The smallest and the largest value of a dtype.
std::pair<uint64_t, uint64_t> extremes(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  if (is_integer(dtype)) {
    const IntegerRange range = range_of(dtype);
    return {convert_bits(DType::I64, dtype, static_cast<uint64_t>(range.low)),
            convert_bits(DType::U64, dtype, range.high)};
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return {convert_bits(DType::F64, dtype, std::bit_cast<uint64_t>(-infinity)),
          convert_bits(DType::F64, dtype, std::bit_cast<uint64_t>(infinity))};
}

// What a reduction of no elements gives. Extremes of nothing are joined with a value that the program gives, or a check
// before them has ended the run.
uint64_t identity(const Op& op, ElementFunction combine) {
  switch (info(op.reduce_op).identity) {
    case Identity::Zero:
      return 0;
    case Identity::One:
      return convert_bits(DType::I64, op.dtype, 1);
    case Identity::AllOnes:
      return convert_bits(DType::I64, op.dtype, static_cast<uint64_t>(-1));
    case Identity::None:
      break;
  }
  const auto [low, high] = extremes(op.dtype);
  const uint64_t operands[2] = {low, high};
  return combine(operands) == high ? low : high;
}

}  // namespace

void Evaluator::elementwise(const Op& op) {
  std::vector<DType> dtypes;
  for (const ValueId id : op.operands) dtypes.push_back(p_.values[id].dtype);
  const ElementFunction function = element_function(op.element_op, dtypes);
  EvalValue v = fresh(p_.values[op.results[0]]);
  const int64_t count = count_of(v.shape);
  for (const ValueId id : op.operands)
    if (p_.values[id].kind == ValueKind::Array && value(id).shape != v.shape)
      throw internal_error(
          fmt::format("An operand of '{}' has another shape than the result.", info(op.element_op).name));
  const int size = item_size(v.dtype);
  uint64_t operands[3] = {0, 0, 0};
  for (int64_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const EvalValue& x = value(op.operands[k]);
      const int width = item_size(x.dtype);
      const bool array = p_.values[op.operands[k]].kind == ValueKind::Array;
      operands[k] = read_bits(&x.bytes[array ? i * width : 0], width);
    }
    const uint64_t bits = function(operands);
    std::memcpy(&v.bytes[i * size], &bits, static_cast<size_t>(size));
  }
  values_[op.results[0]] = std::move(v);
}

void Evaluator::cast(const Op& op) {
  const EvalValue& x = value(op.operands[0]);
  EvalValue v = fresh(p_.values[op.results[0]]);
  const int from = item_size(x.dtype), to = item_size(v.dtype);
  const int64_t count = count_of(v.shape);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = convert_bits(x.dtype, op.dtype, read_bits(&x.bytes[i * from], from));
    std::memcpy(&v.bytes[i * to], &bits, static_cast<size_t>(to));
  }
  values_[op.results[0]] = std::move(v);
}

void Evaluator::iota(const Op& op) {
  EvalValue v = fresh(p_.values[op.results[0]]);
  uint8_t* at = v.bytes.data();
  for_each_index(v.shape, [&](const Indices& index) {
    std::memcpy(at, &index[op.axes[0]], sizeof(int64_t));
    at += sizeof(int64_t);
  });
  values_[op.results[0]] = std::move(v);
}

void Evaluator::fill(const Op& op) {
  EvalValue v = fresh(p_.values[op.results[0]]);
  const std::vector<uint8_t>& element = value(op.operands[0]).bytes;
  for (size_t at = 0; at < v.bytes.size(); at += element.size())
    std::memcpy(&v.bytes[at], element.data(), element.size());
  values_[op.results[0]] = std::move(v);
}

void Evaluator::remap(const Op& op) {
  const EvalValue& x = value(op.operands[0]);
  EvalValue v = fresh(p_.values[op.results[0]]);
  const size_t size = static_cast<size_t>(item_size(v.dtype));
  uint8_t* to = v.bytes.data();
  for_each_index(v.shape, [&](const Indices& index) {
    int64_t at = 0;
    for (size_t axis = 0; axis < x.shape.size(); ++axis) {
      const AxisMap& map = op.map.axes[axis];
      int64_t position = number(map.start);
      for (const AxisTerm& term : map.terms) position += number(term.step) * index[term.axis];
      if (position < 0 || position >= x.shape[axis]) throw internal_error("A remap looks outside of its array.");
      at = at * x.shape[axis] + position;
    }
    std::memcpy(to, &x.bytes[at * size], size);
    to += size;
  });
  values_[op.results[0]] = std::move(v);
}

void Evaluator::reduce(const Op& op) {
  const EvalValue& x = value(op.operands[0]);
  const std::vector<DType> dtypes(2, op.dtype);
  const ElementFunction function = element_function(info(op.reduce_op).combine, dtypes);
  Indices kept, dropped;
  std::vector<bool> is_dropped(x.shape.size());
  for (const int axis : op.axes) is_dropped[axis] = true;
  for (size_t axis = 0; axis < x.shape.size(); ++axis) (is_dropped[axis] ? dropped : kept).push_back(x.shape[axis]);
  EvalValue v = fresh(p_.values[op.results[0]]);
  if (v.shape != kept) throw internal_error("A reduction has another shape than its result's type.");
  const int size = item_size(op.dtype);
  uint8_t* to = v.bytes.data();
  for_each_index(kept, [&](const Indices& outer) {
    std::vector<uint64_t> elements;
    for_each_index(dropped, [&](const Indices& inner) {
      int64_t at = 0;
      size_t next_outer = 0, next_inner = 0;
      for (size_t axis = 0; axis < x.shape.size(); ++axis)
        at = at * x.shape[axis] + (is_dropped[axis] ? inner[next_inner++] : outer[next_outer++]);
      elements.push_back(read_bits(&x.bytes[at * size], size));
    });
    uint64_t bits = elements.empty() ? identity(op, function) : combine(function, elements);
    if (info(op.reduce_op).identity == Identity::Zero && is_float(op.dtype)) {
      // A sum begins with 0.0, which shows where all elements are -0.0.
      const uint64_t operands[2] = {0, bits};
      bits = function(operands);
    }
    std::memcpy(to, &bits, static_cast<size_t>(size));
    to += size;
  });
  values_[op.results[0]] = std::move(v);
}

}  // namespace ferrule::evaluation
