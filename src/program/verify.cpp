#include "program/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "program/normalize.h"
#include "program/program_text.h"
#include "program/promote.h"
#include "program/visit.h"

namespace ferrule {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : p_(program),
        facts_(&program.symbols),
        visible_(program.values.size()),
        defined_(program.values.size()),
        symbol_in_scope_(program.symbols.size(), true) {}

  void run() {
    scope_symbols();
    for (BufferId id = 0; id < p_.buffers.size(); ++id) buffer(id);
    for (const ValueType& type : p_.values) this->type(type);
    for (size_t i = 0; i < p_.arguments.size(); ++i) argument(static_cast<int>(i));
    for (const SymbolSource& source : p_.sources) this->source(source);
    for (const Guard& guard : p_.guards) {
      in_scope(guard.condition.left);
      in_scope(guard.condition.right);
      facts_.assume(guard.condition);
    }
    require(p_.body.params.empty() && p_.body.yields.empty(), "the body has neither parameters nor yields");
    region(p_.body);
    for (const Result& result : p_.results) this->result(result);
    flags();
  }

 private:
  [[noreturn]] void broken(std::string_view rule) const {
    std::string where;
    if (current_ != nullptr) {
      const std::string_view name =
          current_->kind == OpKind::Elementwise ? info(current_->element_op).name : op_word(current_->kind);
      where = fmt::format(" Operation '{}' with operands ({}) and results ({}).", name,
                          fmt::join(current_->operands, ", "), fmt::join(current_->results, ", "));
    }
    throw internal_error(fmt::format("The program '{}' breaks a rule: {}.{}", p_.name, rule, where));
  }
  void require(bool holds, std::string_view rule) const {
    if (!holds) broken(rule);
  }

  static std::string_view op_word(OpKind kind) {
    static constexpr std::string_view kWords[] = {"constant", "size",  "symbolize", "elementwise", "cast",  "iota",
                                                  "fill",     "remap", "view",      "load",        "store", "alloc",
                                                  "reduce",   "check", "for",       "while",       "if"};
    return kWords[static_cast<size_t>(kind)];
  }

  // ---- what stands outside of the body

  // Loop variables and symbols that a Symbolize defines are in scope below it; other symbols everywhere.
  void scope_symbols() {
    for_each_op(p_.body, [&](const Op& op) {
      if (op.kind != OpKind::For && op.kind != OpKind::Symbolize) return;
      require(op.symbol < p_.symbols.size(), "a symbol lies in the program's table");
      require(symbol_in_scope_[op.symbol], "a symbol is defined once");
      symbol_in_scope_[op.symbol] = false;
      local_symbols_.insert(op.symbol);
    });
    for (SymbolId id = 0; id < p_.symbols.size(); ++id)
      require(p_.symbols[id].kind != SymbolKind::Loop || local_symbols_.contains(id), "a loop variable has a loop");
    for (const SymbolSource& s : p_.sources)
      require(!local_symbols_.contains(s.symbol), "a symbol with a source is not defined again inside the program");
  }

  void in_scope(const Expr& e) const {
    for (const SymbolId id : e.symbols()) {
      require(id < p_.symbols.size(), "a symbol lies in the program's table");
      if (!symbol_in_scope_[id])
        broken(fmt::format("the symbol '{}' is used where it has no value", p_.symbols[id].name));
    }
  }
  void known(const Expr& e) const {
    for (const SymbolId id : e.symbols()) require(id < p_.symbols.size(), "a symbol lies in the program's table");
  }

  void buffer(BufferId id) {
    const Buffer& b = p_.buffers[id];
    for_each_expr_of_buffer(b, [&](const Expr& e) { known(e); });
    require(b.strides.empty() || b.strides.size() == b.shape.size(), "a buffer has one stride an axis");
    require(b.base == kNone || b.storage == Storage::Alias, "only an alias buffer has a base");
    switch (b.storage) {
      case Storage::Argument:
        require(b.argument >= 0 && b.argument < static_cast<int>(p_.arguments.size()) &&
                    p_.arguments[b.argument].kind == ArgumentKind::Array && p_.arguments[b.argument].buffer == id,
                "an argument buffer belongs to its array argument");
        break;
      case Storage::Constant: {
        int64_t bytes = item_size(b.dtype);
        for (const Expr& extent : b.shape) {
          require(extent.constant().has_value() && *extent.constant() >= 0, "the extents of a constant are numbers");
          require(!__builtin_mul_overflow(bytes, *extent.constant(), &bytes), "a constant is not larger than memory");
        }
        require(bytes == static_cast<int64_t>(b.bytes.size()), "a constant has the bytes of its shape");
        break;
      }
      case Storage::Transient:
        break;
      case Storage::Carried:
        require(b.strides.size() == b.shape.size(), "a carried buffer has strides");
        require(std::is_sorted(b.may_be.begin(), b.may_be.end()), "the buffers that a carried one stands for ascend");
        for (const BufferId root : b.may_be)
          require(root < p_.buffers.size() && p_.buffers[root].storage != Storage::Carried &&
                      p_.buffers[root].storage != Storage::Alias,
                  "a carried buffer stands for buffers with memory of their own");
        break;
      case Storage::Alias:
        require(b.base < p_.buffers.size() && p_.buffers[b.base].storage != Storage::Alias,
                "the base of an alias is no alias");
        require(p_.buffers[b.base].dtype == b.dtype, "an alias has its base's dtype");
        require(b.strides.size() == b.shape.size(), "an alias has strides");
        break;
    }
  }

  void map(const IndexMap& m, size_t source_rank) const {
    require(m.axes.size() == source_rank, "a map has one entry for each source axis");
    for (const AxisMap& axis : m.axes) {
      int last = -1;
      for (const AxisTerm& term : axis.terms) {
        require(term.axis > last && term.axis < static_cast<int>(m.shape.size()),
                "the terms of a map ascend within its axes");
        last = term.axis;
      }
    }
  }

  void type(const ValueType& t) const {
    for_each_expr_of_type(t, [&](const Expr& e) { known(e); });
    require(t.kind == ValueKind::View || t.buffer == kNone, "only a view has a buffer");
    switch (t.kind) {
      case ValueKind::Scalar:
        require(t.shape.empty(), "a scalar has no shape");
        break;
      case ValueKind::Array:
        require(!t.shape.empty(), "an array without axes is a scalar");
        require(!t.weak, "an array is not weak");
        break;
      case ValueKind::View:
        require(t.buffer < p_.buffers.size(), "a view has a buffer");
        require(t.dtype == p_.buffers[t.buffer].dtype, "a view has its buffer's dtype");
        require(t.map.shape == t.shape, "the map of a view has the view's shape");
        require(!t.weak, "a view is not weak");
        map(t.map, p_.buffers[t.buffer].shape.size());
        break;
    }
    if (t.kind != ValueKind::View) require(is_computable(t.dtype), "values have dtypes that are computed with");
  }

  void argument(int index) {
    const Argument& a = p_.arguments[index];
    if (a.kind == ArgumentKind::Static) {
      require(a.value == kNone && a.buffer == kNone, "a static argument has no value");
      return;
    }
    require(a.value < p_.values.size(), "an argument has a value");
    const ValueType& t = p_.values[a.value];
    require(t.dtype == a.dtype, "an argument has its value's dtype");
    define(a.value);
    if (a.kind == ArgumentKind::Array) {
      require(a.buffer < p_.buffers.size() && p_.buffers[a.buffer].storage == Storage::Argument &&
                  p_.buffers[a.buffer].argument == index,
              "an array argument has a buffer of its own");
      require(t.kind == ValueKind::View && t.buffer == a.buffer, "an array argument's value views its buffer");
      require(a.inner_axis >= 0 && (a.inner_axis == 0 || a.inner_axis < static_cast<int>(t.shape.size())),
              "the inner axis exists");
      require(a.layout == Layout::C || t.shape.empty() || !p_.buffers[a.buffer].strides.empty(),
              "layouts other than C have strides");
    } else {
      require(t.kind == ValueKind::Scalar && t.weak == a.weak, "a scalar argument's value is a scalar");
      require(a.symbol == kNone ||
                  (a.weak && is_integer(a.dtype) && a.symbol < p_.symbols.size() && !local_symbols_.contains(a.symbol)),
              "the symbol of a scalar argument is that of a weak integer");
    }
  }

  void source(const SymbolSource& s) const {
    require(s.symbol < p_.symbols.size(), "a symbol lies in the program's table");
    require(s.coefficient != 0, "the coefficient of a source is not zero");
    if (s.source == FR_SYMBOL_EXPLICIT) return;
    require(s.argument >= 0 && s.argument < static_cast<int>(p_.arguments.size()), "a source is an argument");
    const Argument& a = p_.arguments[s.argument];
    if (s.source == FR_SYMBOL_SCALAR) {
      require(a.kind == ArgumentKind::Scalar && is_integer(a.dtype),
              "the source of a scalar symbol is an integer argument");
      return;
    }
    require(
        a.kind == ArgumentKind::Array && s.axis >= 0 && s.axis < static_cast<int>(p_.buffers[a.buffer].shape.size()),
        "the source of an extent or a stride is an axis of an array argument");
  }

  // ---- regions

  void define(ValueId id) {
    require(id < p_.values.size(), "a value lies in the program's table");
    require(!defined_[id], "a value is defined once");
    defined_[id] = visible_[id] = true;
    scope_.push_back(id);
  }

  const ValueType& use(ValueId id) const {
    require(id < p_.values.size(), "a value lies in the program's table");
    require(visible_[id], "a value is defined before its use, in the same or an enclosing region");
    return p_.values[id];
  }
  const ValueType& operand(size_t i) const { return use(current_->operands[i]); }
  const ValueType& result_type() const { return p_.values[current_->results[0]]; }

  void region(const Region& r) {
    const size_t begin = scope_.size();
    std::vector<SymbolId> defined_here;
    for (const ValueId id : r.params) {
      define(id);
      require(p_.values[id].kind != ValueKind::View || p_.buffers[p_.values[id].buffer].storage == Storage::Carried,
              "a view parameter has a carried buffer");
    }
    for (const Op& op : r.ops) {
      current_ = &op;
      operation(op);
      current_ = &op;
      for (const ValueId id : op.results) {
        define(id);
        for_each_expr_of_type(p_.values[id], [&](const Expr& e) { in_scope(e); });
      }
      if (op.kind == OpKind::Symbolize) {
        symbol_in_scope_[op.symbol] = true;
        defined_here.push_back(op.symbol);
      }
      if (op.kind == OpKind::Check && op.condition) facts_.assume(*op.condition);
    }
    for (const ValueId id : r.yields) use(id);
    // The body's values stay for the results.
    if (&r == &p_.body) return;
    for (size_t i = begin; i < scope_.size(); ++i) visible_[scope_[i]] = false;
    scope_.resize(begin);
    for (const SymbolId id : defined_here) symbol_in_scope_[id] = false;
  }

  bool equal(const Expr& a, const Expr& b) const { return a == b || facts_.prove_equal(a, b); }
  bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](const Expr& x, const Expr& y) { return equal(x, y); });
  }
  bool same_shape(const ValueType& a, const ValueType& b) const { return a.kind == b.kind && equal(a.shape, b.shape); }

  void arity(size_t operands, size_t results) const {
    require(current_->operands.size() == operands && current_->results.size() == results,
            "an operation has its operands and results");
    for (const ValueId id : current_->results) require(id < p_.values.size(), "a value lies in the program's table");
  }

  void operation(const Op& op) {
    for_each_expr_of_op(op, [&](const Expr& e) { in_scope(e); });
    if (op.condition)
      require(op.operands.empty() || op.kind == OpKind::Check || op.kind == OpKind::If,
              "conditions are of checks and ifs");
    for (const ValueId id : op.operands) use(id);
    switch (op.kind) {
      case OpKind::Constant:
        arity(0, 1);
        require(result_type().kind == ValueKind::Scalar && result_type().dtype == op.dtype,
                "a constant is a scalar of its dtype");
        require(item_size(op.dtype) == 8 || op.bits >> (8 * item_size(op.dtype)) == 0,
                "the bits of a constant fit its dtype");
        require(op.dtype != DType::Bool || op.bits <= 1, "a bool is 0 or 1");
        break;
      case OpKind::Size:
        arity(0, 1);
        require(result_type().kind == ValueKind::Scalar && result_type().dtype == DType::I64,
                "a size is an int64 scalar");
        break;
      case OpKind::Symbolize:
        arity(1, 0);
        require(operand(0).kind == ValueKind::Scalar && operand(0).dtype == DType::I64,
                "a symbol takes the value of an int64 scalar");
        require(p_.symbols[op.symbol].kind == SymbolKind::Opaque, "a symbol with a run-time value is opaque");
        require(!symbol_in_scope_[op.symbol], "a symbol is defined once");
        break;
      case OpKind::Elementwise:
        elementwise(op);
        break;
      case OpKind::Cast:
        arity(1, 1);
        require(operand(0).kind != ValueKind::View && same_shape(operand(0), result_type()), "a cast keeps the shape");
        require(result_type().dtype == op.dtype, "a cast gives its dtype");
        break;
      case OpKind::Iota:
        arity(0, 1);
        require(result_type().kind == ValueKind::Array && result_type().dtype == DType::I64,
                "indices are an int64 array");
        require(op.axes.size() == 1 && op.axes[0] >= 0 && op.axes[0] < static_cast<int>(result_type().shape.size()),
                "the axis of indices exists");
        require(equal(op.map.shape, result_type().shape), "indices have the shape of their map");
        break;
      case OpKind::Fill:
        arity(1, 1);
        require(operand(0).kind == ValueKind::Scalar && result_type().kind == ValueKind::Array &&
                    operand(0).dtype == result_type().dtype,
                "a fill repeats a scalar of its dtype");
        require(equal(op.map.shape, result_type().shape), "a fill has the shape of its map");
        break;
      case OpKind::Remap:
        arity(1, 1);
        require(operand(0).kind == ValueKind::Array && operand(0).dtype == result_type().dtype,
                "a remap looks at an array of its dtype");
        require(result_type().kind != ValueKind::View && equal(op.map.shape, result_type().shape),
                "a remap has the shape of its map");
        map(op.map, operand(0).shape.size());
        break;
      case OpKind::View:
        view(op);
        break;
      case OpKind::Load:
        arity(1, 1);
        require(operand(0).kind == ValueKind::View && operand(0).dtype == result_type().dtype,
                "a load reads a view of its dtype");
        require(result_type().kind != ValueKind::View && equal(operand(0).shape, result_type().shape),
                "a load has the view's shape");
        break;
      case OpKind::Store:
        arity(2, 0);
        require(operand(0).kind == ValueKind::View && operand(1).kind != ValueKind::View,
                "a store writes a value through a view");
        require(operand(0).dtype == operand(1).dtype, "a store converts nothing");
        require(operand(1).kind == ValueKind::Scalar || equal(operand(0).shape, operand(1).shape),
                "a stored array has the view's shape");
        for (const BufferId root : roots_of(p_, operand(0).buffer))
          require(p_.buffers[root].storage != Storage::Constant, "a constant is not written");
        break;
      case OpKind::Alloc:
        arity(0, 1);
        require(op.buffer < p_.buffers.size() && p_.buffers[op.buffer].storage == Storage::Transient,
                "an allocation makes a transient buffer");
        require(allocated_.insert(op.buffer).second, "a buffer is allocated once");
        require(result_type().kind == ValueKind::View && result_type().buffer == op.buffer,
                "an allocation gives a view of its buffer");
        for_each_expr_of_buffer(p_.buffers[op.buffer], [&](const Expr& e) { in_scope(e); });
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

  void elementwise(const Op& op) {
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

  BufferId memory(BufferId id) const { return p_.buffers[id].storage == Storage::Alias ? p_.buffers[id].base : id; }

  void view(const Op& op) {
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

  void reduce(const Op& op) {
    arity(1, 1);
    const ValueType& t = operand(0);
    require(t.kind == ValueKind::Array && t.dtype == op.dtype && result_type().dtype == op.dtype,
            "a reduction has one dtype");
    require(result_type().kind != ValueKind::View, "a reduction gives a value");
    require(
        !op.axes.empty() && op.axes.front() >= 0 && op.axes.back() < static_cast<int>(t.shape.size()) &&
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

  void test(const Op& op) const {
    if (op.condition) return;
    require(operand(0).kind == ValueKind::Scalar && operand(0).dtype == DType::Bool, "a condition is a bool scalar");
  }

  // ---- control flow

  // Opaque symbols that nothing else defines take their value with the value that is carried.
  bool is_carried_symbol(const Expr& e) const {
    const auto symbol = e.as_symbol();
    return symbol && p_.symbols[*symbol].kind == SymbolKind::Opaque && !local_symbols_.contains(*symbol);
  }

  void carried(const std::vector<ValueId>& given, const std::vector<ValueId>& expected) const {
    require(given.size() == expected.size(), "there is one value for each parameter or result");
    for (size_t i = 0; i < given.size(); ++i) {
      require(given[i] < p_.values.size() && expected[i] < p_.values.size(), "a value lies in the program's table");
      const ValueType& a = p_.values[given[i]];
      const ValueType& b = p_.values[expected[i]];
      require(a.kind == b.kind && a.dtype == b.dtype && a.weak == b.weak && a.shape.size() == b.shape.size(),
              "a carried value keeps its kind, dtype and rank");
      for (size_t axis = 0; axis < a.shape.size(); ++axis)
        require(is_carried_symbol(b.shape[axis]) || equal(a.shape[axis], b.shape[axis]),
                "a carried value keeps its shape");
      if (a.kind != ValueKind::View) continue;
      require(p_.buffers[b.buffer].storage == Storage::Carried, "a carried view has a carried buffer");
      const auto& may_be = p_.buffers[b.buffer].may_be;
      for (const BufferId root : roots_of(p_, a.buffer))
        require(std::binary_search(may_be.begin(), may_be.end(), root),
                "a carried buffer lists every buffer that it may stand for");
    }
  }

  void for_loop(const Op& op) {
    require(op.regions.size() == 1, "a for loop has one region");
    const Region& body = op.regions[0];
    require(!op.step.is_constant(0), "the step of a loop is not zero");
    carried(op.operands, body.params);
    facts_.push();
    symbol_in_scope_[op.symbol] = true;
    const auto step = op.step.constant();
    if (step && *step < 0)
      facts_.assume_loop(op.symbol, op.hi + 1, op.lo + 1);
    else
      facts_.assume_loop(op.symbol, op.lo, op.hi);
    region(body);
    current_ = &op;
    carried(body.yields, body.params);
    symbol_in_scope_[op.symbol] = false;
    facts_.pop();
    carried(body.params, op.results);
  }

  void while_loop(const Op& op) {
    require(op.regions.size() == 2, "a while loop has two regions");
    carried(op.operands, op.regions[0].params);
    carried(op.operands, op.regions[1].params);
    facts_.push();
    region(op.regions[0]);
    current_ = &op;
    const std::vector<ValueId>& test = op.regions[0].yields;
    require(test.size() == 1 && p_.values[test[0]].kind == ValueKind::Scalar && p_.values[test[0]].dtype == DType::Bool,
            "the test of a while loop yields a bool scalar");
    facts_.pop();
    facts_.push();
    region(op.regions[1]);
    current_ = &op;
    carried(op.regions[1].yields, op.regions[1].params);
    facts_.pop();
    carried(op.regions[1].params, op.results);
  }

  void if_else(const Op& op) {
    require(op.regions.size() == 2, "an if has two regions");
    require(op.operands.size() == (op.condition ? 0u : 1u), "an if has one condition");
    test(op);
    for (int side = 0; side < 2; ++side) {
      const Region& branch = op.regions[side];
      require(branch.params.empty(), "a branch has no parameters");
      facts_.push();
      if (op.condition) facts_.assume(side == 0 ? *op.condition : negate(*op.condition));
      region(branch);
      current_ = &op;
      carried(branch.yields, op.results);
      facts_.pop();
    }
  }

  void result(const Result& r) const {
    if (r.kind == ResultKind::None) return;
    if (r.kind == ResultKind::Argument) {
      require(r.argument >= 0 && r.argument < static_cast<int>(p_.arguments.size()),
              "a result that is an argument names one");
      return;
    }
    const ValueType& t = use(r.value);
    if (t.kind != ValueKind::View) return;
    for (const BufferId root : roots_of(p_, t.buffer))
      require(p_.buffers[root].storage == Storage::Argument, "a view that is returned looks at an argument");
  }

  void flags() const {
    Program copy = p_;
    set_access_flags(copy);
    for (size_t i = 0; i < p_.arguments.size(); ++i)
      require(copy.arguments[i].read == p_.arguments[i].read && copy.arguments[i].written == p_.arguments[i].written,
              "arguments are marked as read and written as the body does");
  }

  const Program& p_;
  Facts facts_;
  std::vector<bool> visible_, defined_;
  std::vector<bool> symbol_in_scope_;
  std::set<SymbolId> local_symbols_;
  std::set<BufferId> allocated_;
  std::vector<ValueId> scope_;
  const Op* current_ = nullptr;
};

}  // namespace

void verify(const Program& program) { Verifier(program).run(); }

}  // namespace ferrule
