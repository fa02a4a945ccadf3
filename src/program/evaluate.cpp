#include "program/evaluate.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <set>

#include "base/error.h"
#include "program/elements.h"
#include "program/fold.h"
#include "program/visit.h"

namespace ferrule {
namespace {

using Indices = std::vector<int64_t>;

// Memory of one buffer: where it lies, how much of it may be touched, which argument it belongs to.
struct Memory {
  uint8_t* first = nullptr;          // of element 0
  int64_t lowest = 0, highest = -1;  // elements that exist
  int argument = -1;
  std::shared_ptr<std::vector<uint8_t>> owner;
};

// A window with numbers instead of expressions.
struct Window {
  Memory memory;
  int64_t offset = 0;
  Indices shape, strides;
};

struct EvalValue {
  DType dtype = DType::F64;
  Indices shape;               // Array
  std::vector<uint8_t> bytes;  // Scalar, Array: C order
  Window window;               // View
};

int64_t count_of(const Indices& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

// Calls f(index) for every index of a shape in C order.
template <class F>
void for_each_index(const Indices& shape, F&& f) {
  if (count_of(shape) == 0) return;
  Indices index(shape.size(), 0);
  for (;;) {
    f(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

uint64_t read_bits(const uint8_t* at, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(size));
  return bits;
}

class Evaluator {
 public:
  Evaluator(const Program& program, const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars)
      : p_(program),
        values_(program.values.size()),
        buffers_(program.buffers.size()),
        symbols_(program.symbols.size()) {
    for_each_op(p_.body, [&](const Op& op) {
      if (op.kind == OpKind::For || op.kind == OpKind::Symbolize) local_symbols_.insert(op.symbol);
    });
    bind_symbols(arrays, scalars);
    bind_arguments(arrays, scalars);
    for (const Guard& guard : p_.guards)
      if (!ferrule::evaluate(guard.condition, symbols_))
        throw user_error(fmt::format("The guard '{}' does not hold.", guard.text));
    for (BufferId id = 0; id < p_.buffers.size(); ++id)
      if (p_.buffers[id].storage == Storage::Constant) bind_constant(id);
  }

  EvalOutcome run() {
    EvalOutcome outcome;
    try {
      region(p_.body);
      for (const Result& r : p_.results) outcome.results.push_back(result(r));
    } catch (const EvalTrap& trap) {
      outcome.trap = trap;
    }
    return outcome;
  }

 private:
  // ---- binding

  void bind_symbols(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars) {
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

  void check_rank(const Argument& argument, const EvalArray& array) const {
    const size_t rank = p_.buffers[argument.buffer].shape.size();
    if (array.shape.size() != rank || array.strides.size() != rank)
      throw user_error(
          fmt::format("Argument '{}' must have {} axes, got {}.", argument.name, rank, array.shape.size()));
  }

  void bind_arguments(const std::vector<EvalArray>& arrays, const std::vector<uint64_t>& scalars) {
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
      Window window{{static_cast<uint8_t*>(array.data), 0, -1, static_cast<int>(i), nullptr}, 0, shape, strides};
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
  }

  void own_memory(BufferId id, std::vector<uint8_t> bytes) {
    const Indices shape = numbers(p_.buffers[id].shape);
    auto owner = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    const int64_t count = static_cast<int64_t>(owner->size()) / item_size(p_.buffers[id].dtype);
    buffers_[id] = {{owner->data(), 0, count - 1, -1, owner}, 0, shape, strides_of(id)};
  }

  void bind_constant(BufferId id) { own_memory(id, p_.buffers[id].bytes); }

  // ---- sizes

  int64_t number(const Expr& e) const { return e.evaluate(symbols_); }
  Indices numbers(const std::vector<Expr>& exprs) const {
    Indices result;
    for (const Expr& e : exprs) result.push_back(number(e));
    return result;
  }

  Indices strides_of(BufferId id) const {
    const Buffer& buffer = p_.buffers[id];
    if (!buffer.strides.empty()) return numbers(buffer.strides);
    Indices strides(buffer.shape.size(), 1);
    for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * number(buffer.shape[i]);
    return strides;
  }

  // ---- values

  EvalValue& value(ValueId id) { return values_[id]; }

  void set_scalar(ValueId id, uint64_t bits) {
    EvalValue& v = values_[id];
    v.dtype = p_.values[id].dtype;
    v.bytes.resize(static_cast<size_t>(item_size(v.dtype)));
    std::memcpy(v.bytes.data(), &bits, v.bytes.size());
  }

  uint64_t scalar(ValueId id) { return read_bits(values_[id].bytes.data(), item_size(values_[id].dtype)); }

  // An array (or scalar) of the result's type with its shape, to be filled.
  EvalValue fresh(const ValueType& type) const {
    EvalValue v{.dtype = type.dtype, .shape = numbers(type.shape)};
    v.bytes.resize(static_cast<size_t>(count_of(v.shape) * item_size(type.dtype)));
    return v;
  }

  Window buffer_window(BufferId id) const {
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

  void set_view(ValueId id) {
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

  static uint8_t* address(const Window& window, const Indices& index, DType dtype) {
    int64_t at = window.offset;
    for (size_t axis = 0; axis < index.size(); ++axis) at += index[axis] * window.strides[axis];
    if (at < window.memory.lowest || at > window.memory.highest)
      throw internal_error(fmt::format("The program touches element {} of memory with elements {} to {}.", at,
                                       window.memory.lowest, window.memory.highest));
    return window.memory.first + at * item_size(dtype);
  }

  // ---- operations

  void region(const Region& r) {
    for (const Op& op : r.ops) operation(op);
  }

  void operation(const Op& op) {
    const auto result_type = [&]() -> const ValueType& { return p_.values[op.results[0]]; };
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
      case OpKind::Cast: {
        const EvalValue& x = value(op.operands[0]);
        const DType from = x.dtype;
        return map_elements(op, [&](uint64_t bits) { return convert_bits(from, op.dtype, bits); });
      }
      case OpKind::Iota: {
        EvalValue v = fresh(result_type());
        uint8_t* at = v.bytes.data();
        for_each_index(v.shape, [&](const Indices& index) {
          std::memcpy(at, &index[op.axes[0]], sizeof(int64_t));
          at += sizeof(int64_t);
        });
        values_[op.results[0]] = std::move(v);
        return;
      }
      case OpKind::Fill: {
        EvalValue v = fresh(result_type());
        const std::vector<uint8_t>& element = value(op.operands[0]).bytes;
        for (size_t at = 0; at < v.bytes.size(); at += element.size())
          std::memcpy(&v.bytes[at], element.data(), element.size());
        values_[op.results[0]] = std::move(v);
        return;
      }
      case OpKind::Remap:
        return remap(op);
      case OpKind::View:
        return set_view(op.results[0]);
      case OpKind::Load:
        return load(op);
      case OpKind::Store:
        return store(op);
      case OpKind::Alloc: {
        const Indices shape = numbers(p_.buffers[op.buffer].shape);
        for (const int64_t extent : shape)
          if (extent < 0)
            throw internal_error(fmt::format("The buffer '{}' has a negative extent.", p_.buffers[op.buffer].name));
        // Undefined contents: bytes that show when something reads them.
        own_memory(op.buffer, std::vector<uint8_t>(
                                  static_cast<size_t>(count_of(shape) * item_size(p_.buffers[op.buffer].dtype)), 0xA5));
        return set_view(op.results[0]);
      }
      case OpKind::Reduce:
        return reduce(op);
      case OpKind::Check:
        if (!holds(op)) throw EvalTrap{op.code, op.site, {}};
        return;
      case OpKind::For:
        return for_loop(op);
      case OpKind::While:
        return while_loop(op);
      case OpKind::If: {
        const Region& taken = op.regions[holds(op) ? 0 : 1];
        region(taken);
        carry(taken.yields, op.results);
        return;
      }
    }
  }

  bool holds(const Op& op) {
    return op.condition ? ferrule::evaluate(*op.condition, symbols_) : scalar(op.operands[0]) != 0;
  }

  template <class F>
  void map_elements(const Op& op, F&& f) {
    const EvalValue& x = value(op.operands[0]);
    EvalValue v = fresh(p_.values[op.results[0]]);
    const int from = item_size(x.dtype), to = item_size(v.dtype);
    const int64_t count = count_of(v.shape);
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t bits = f(read_bits(&x.bytes[i * from], from));
      std::memcpy(&v.bytes[i * to], &bits, static_cast<size_t>(to));
    }
    values_[op.results[0]] = std::move(v);
  }

  void elementwise(const Op& op) {
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

  void remap(const Op& op) {
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

  void load(const Op& op) {
    const Window window = value(op.operands[0]).window;
    EvalValue v = fresh(p_.values[op.results[0]]);
    const size_t size = static_cast<size_t>(item_size(v.dtype));
    uint8_t* to = v.bytes.data();
    for_each_index(window.shape, [&](const Indices& index) {
      std::memcpy(to, address(window, index, v.dtype), size);
      to += size;
    });
    values_[op.results[0]] = std::move(v);
  }

  void store(const Op& op) {
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

  // Halves until single elements are left: float sums lose little.
  static uint64_t combine(ElementFunction function, std::span<const uint64_t> elements) {
    if (elements.size() == 1) return elements[0];
    const size_t half = elements.size() / 2;
    const uint64_t operands[2] = {combine(function, elements.first(half)), combine(function, elements.subspan(half))};
    return function(operands);
  }

  uint64_t identity(const Op& op) const {
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
    throw user_error(fmt::format("A zero-size array has no '{}'.", info(op.reduce_op).name));
  }

  void reduce(const Op& op) {
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
      const uint64_t bits = elements.empty() ? identity(op) : combine(function, elements);
      std::memcpy(to, &bits, static_cast<size_t>(size));
      to += size;
    });
    values_[op.results[0]] = std::move(v);
  }

  // ---- control flow

  // An opaque symbol that nothing else defines takes its value with what is carried; other sizes must agree.
  void carry_size(const Expr& expected, int64_t actual, bool matters) {
    const auto symbol = expected.as_symbol();
    if (symbol && p_.symbols[*symbol].kind == SymbolKind::Opaque && !local_symbols_.contains(*symbol)) {
      symbols_[*symbol] = actual;
    } else if (matters && number(expected) != actual) {
      throw internal_error(
          fmt::format("A carried value has a size or stride of {}, its type {}.", actual, number(expected)));
    }
  }

  // All sources are read before any target is written: targets may be sources of the next step.
  void carry(const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
    std::vector<EvalValue> given;
    for (const ValueId id : from) given.push_back(values_[id]);
    for (size_t i = 0; i < to.size(); ++i) {
      const ValueType& type = p_.values[to[i]];
      const Indices& shape = type.kind == ValueKind::View ? given[i].window.shape : given[i].shape;
      for (size_t axis = 0; axis < type.shape.size(); ++axis) carry_size(type.shape[axis], shape[axis], true);
      if (type.kind == ValueKind::View) {
        const Buffer& buffer = p_.buffers[type.buffer];
        for (size_t axis = 0; axis < shape.size(); ++axis)
          carry_size(buffer.strides[axis], given[i].window.strides[axis], count_of(shape) != 0 && shape[axis] > 1);
        buffers_[type.buffer] = given[i].window;
      }
    }
    for (size_t i = 0; i < to.size(); ++i) {
      if (p_.values[to[i]].kind == ValueKind::View)
        set_view(to[i]);
      else
        values_[to[i]] = std::move(given[i]);
    }
  }

  void for_loop(const Op& op) {
    const Region& body = op.regions[0];
    const int64_t lo = number(op.lo), hi = number(op.hi), step = number(op.step);
    if (step == 0) throw internal_error("The step of a loop is zero.");
    carry(op.operands, body.params);
    for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
      symbols_[op.symbol] = i;
      region(body);
      carry(body.yields, body.params);
    }
    carry(body.params, op.results);
  }

  void while_loop(const Op& op) {
    const Region& test = op.regions[0];
    const Region& body = op.regions[1];
    carry(op.operands, body.params);
    for (;;) {
      carry(body.params, test.params);
      region(test);
      if (scalar(test.yields[0]) == 0) break;
      region(body);
      carry(body.yields, body.params);
    }
    carry(body.params, op.results);
  }

  EvalResult result(const Result& r) {
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

  const Program& p_;
  std::vector<EvalValue> values_;
  std::vector<Window> buffers_;
  std::vector<int64_t> symbols_;
  std::set<SymbolId> local_symbols_;
};

}  // namespace

EvalOutcome evaluate(const Program& program, const std::vector<EvalArray>& arrays,
                     const std::vector<uint64_t>& scalars) {
  return Evaluator(program, arrays, scalars).run();
}

}  // namespace ferrule
