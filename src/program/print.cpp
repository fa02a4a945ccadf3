// The writing half of the text form; parse.cpp reads what this writes.
#include <fmt/format.h>

#include <unordered_map>

#include "base/error.h"
#include "program/program_text.h"
#include "program/text_constants.h"
#include "program/text_names.h"

namespace ferrule {
namespace {

const char* storage_word(Storage storage) {
  switch (storage) {
    case Storage::Argument:
      return "argument";
    case Storage::Constant:
      return "constant";
    case Storage::Transient:
      return "transient";
    case Storage::Carried:
      return "carried";
    case Storage::Alias:
      return "alias";
  }
  return "";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {
    for (SymbolId id = 0; id < program.symbols.size(); ++id)
      symbol_names_.push_back(is_plain_symbol(program.symbols[id].name) ? program.symbols[id].name
                                                                        : fmt::format("$s{}", id));
  }

  std::string run() {
    line("fr 1");
    line("program {}", text_name(program_.name));
    if (program_.bounds_check) line("option bounds_check");
    if (program_.arguments_may_alias) line("option arguments_may_alias");
    if (program_.returns_tuple) line("option returns_tuple");
    for (SymbolId id = 0; id < program_.symbols.size(); ++id) symbol(id);
    for (const SymbolSource& source : program_.sources) symbol_source(source);
    for (const Buffer& buffer : program_.buffers) this->buffer(buffer);
    for (const Argument& argument : program_.arguments) this->argument(argument);
    for (const Guard& guard : program_.guards)
      line("guard ({}) {}{}", condition(guard.condition), text_string(guard.text),
           guard.compares_sources ? " compares_sources" : "");
    line("body {{");
    ++indent_;
    region(program_.body);
    --indent_;
    line("}}");
    for (const Result& result : program_.results) this->result(result);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(2 * indent_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  std::string name(ValueId id) {
    const auto [at, added] = numbers_.try_emplace(id, numbers_.size());
    return fmt::format("%{}", at->second);
  }

  std::string expr(const Expr& e) const {
    return to_string(e, [this](SymbolId id) {
      // Ids past the table stand for the indices of a map.
      return id < symbol_names_.size() ? symbol_names_[id] : fmt::format("${}", id - symbol_names_.size());
    });
  }

  std::string list(const std::vector<Expr>& exprs) const {
    std::string text;
    for (const Expr& e : exprs) text += fmt::format("{}{}", text.empty() ? "" : ", ", expr(e));
    return "[" + text + "]";
  }

  std::string condition(const Condition& c) const {
    const char* relation = c.relation == Relation::Eq   ? "=="
                           : c.relation == Relation::Ne ? "!="
                           : c.relation == Relation::Lt ? "<"
                                                        : "<=";
    return fmt::format("{} {} {}", expr(c.left), relation, expr(c.right));
  }

  // One index expression for each source axis, over the result's indices $0, $1, ...
  std::string indices(const IndexMap& map) const {
    std::vector<Expr> axes;
    for (const AxisMap& axis : map.axes) {
      Expr index = axis.start;
      for (const AxisTerm& term : axis.terms)
        index = index + term.step * Expr::symbol(static_cast<SymbolId>(symbol_names_.size()) + term.axis);
      axes.push_back(index);
    }
    return list(axes);
  }

  std::string type(const ValueType& t) const {
    const std::string_view dtype = short_name(t.dtype);
    switch (t.kind) {
      case ValueKind::Scalar:
        return fmt::format("{}{}", t.weak ? "weak " : "", dtype);
      case ValueKind::Array:
        return fmt::format("{}{}", dtype, list(t.shape));
      case ValueKind::View:
        return fmt::format("view {}{} {}{}", dtype, list(t.shape), text_name(program_.buffers[t.buffer].name),
                           indices(t.map));
    }
    return "";
  }

  std::string names(const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(id));
    return text;
  }

  std::string typed(const std::vector<ValueId>& ids) {
    std::string text;
    for (const ValueId id : ids)
      text += fmt::format("{}{} : {}", text.empty() ? "" : ", ", name(id), type(program_.values[id]));
    return text;
  }

  void symbol(SymbolId id) {
    const Symbol& s = program_.symbols[id];
    std::string text = symbol_names_[id];
    if (text != s.name) text += fmt::format(" {}", text_string(s.name));
    line("symbol {} : {}{}", text, symbol_kind_word(s.kind), s.nonnegative ? " nonnegative" : "");
  }

  void symbol_source(const SymbolSource& s) {
    line("source {} = {} {} {} * {} + {}", symbol_names_[s.symbol], symbol_source_word(s.source), s.argument, s.axis,
         s.coefficient, s.offset);
  }

  void buffer(const Buffer& b) {
    std::string text = fmt::format("buffer {} : {}{} {}", text_name(b.name), short_name(b.dtype), list(b.shape),
                                   storage_word(b.storage));
    if (b.storage == Storage::Argument) text += fmt::format(" {}", b.argument);
    if (b.storage == Storage::Alias)
      text += fmt::format(" {} [{}]", text_name(program_.buffers[b.base].name), expr(b.offset));
    if (!b.strides.empty()) text += " strides " + list(b.strides);
    if (b.storage == Storage::Carried) {
      std::string others;
      for (const BufferId id : b.may_be)
        others += fmt::format("{}{}", others.empty() ? "" : ", ", text_name(program_.buffers[id].name));
      text += fmt::format(" may_be ({})", others);
    }
    if (b.storage == Storage::Constant) {
      text += " bytes \"";
      for (const uint8_t byte : b.bytes) text += fmt::format("{:02x}", byte);
      text += '"';
    }
    line("{}", text);
  }

  void argument(const Argument& a) {
    std::string text;
    switch (a.kind) {
      case ArgumentKind::Array:
        text = fmt::format("array {} {} layout {}", text_name(a.name), typed({a.value}), layout_word(a.layout));
        if (a.layout == Layout::Inner) text += fmt::format(" {}", a.inner_axis);
        if (a.read) text += " read";
        if (a.written) text += " written";
        if (a.hidden) text += " hidden";
        break;
      case ArgumentKind::Scalar:
        text = fmt::format("scalar {} {}", text_name(a.name), typed({a.value}));
        if (a.symbol != kNone) text += " symbol " + symbol_names_[a.symbol];
        break;
      case ArgumentKind::Static:
        text = fmt::format("static {} {}", text_name(a.name), text_string(a.static_text));
        break;
    }
    if (a.keyword_only) text += " keyword_only";
    if (!a.default_text.empty()) text += " default " + text_string(a.default_text);
    line("{}", text);
  }

  void result(const Result& r) {
    switch (r.kind) {
      case ResultKind::Value:
        return line("result {}", name(r.value));
      case ResultKind::Argument:
        return line("result argument {}", r.argument);
      case ResultKind::None:
        return line("result none");
    }
  }

  void region(const Region& r) {
    for (const Op& op : r.ops) operation(op);
  }

  void nested(const Region& r, std::string head) {
    line("{} {{", head);
    ++indent_;
    if (!r.params.empty()) line("params {}", typed(r.params));
    region(r);
    if (!r.yields.empty()) line("yield {}", names(r.yields));
    --indent_;
  }

  // `what` and the typed results; operands are named before the results, as they appear before them.
  void simple(const Op& op, const std::string& what) {
    const ValueId result = op.results[0];
    line("{} = {} : {}", name(result), what, type(program_.values[result]));
  }

  std::string test(const Op& op) {
    return op.condition ? fmt::format("({})", condition(*op.condition)) : name(op.operands[0]);
  }

  std::string results(const Op& op) { return op.results.empty() ? "" : " -> " + typed(op.results); }

  void operation(const Op& op) {
    const auto operand = [&](size_t i) { return name(op.operands[i]); };
    switch (op.kind) {
      case OpKind::Constant:
        return simple(op, fmt::format("constant {}", constant_text(op.dtype, op.bits)));
      case OpKind::Size:
        return simple(op, fmt::format("size [{}]", expr(op.expr)));
      case OpKind::Symbolize:
        return line("symbolize {} = {}", symbol_names_[op.symbol], operand(0));
      case OpKind::Elementwise:
        return simple(op, fmt::format("{} {}", info(op.element_op).name, names(op.operands)));
      case OpKind::Cast:
        return simple(op, "cast " + operand(0));
      case OpKind::Iota:
        return simple(op, fmt::format("iota {}", op.axes[0]));
      case OpKind::Fill:
        return simple(op, "fill " + operand(0));
      case OpKind::Remap:
        return simple(op, fmt::format("remap {}{}", operand(0), indices(op.map)));
      case OpKind::View:
        return simple(op, op.operands.empty() ? "view" : "view " + operand(0));
      case OpKind::Load:
        return simple(op, "load " + operand(0));
      case OpKind::Store:
        return line("store {}", names(op.operands));
      case OpKind::Alloc:
        return simple(op, "alloc " + text_name(program_.buffers[op.buffer].name));
      case OpKind::Reduce:
        return simple(op,
                      fmt::format("reduce {} {} ({})", info(op.reduce_op).name, operand(0), fmt::join(op.axes, ", ")));
      case OpKind::Check:
        return line("check {} code {}", test(op), op.code);
      case OpKind::For:
        nested(op.regions[0], fmt::format("for {} = [{}, {}, {}] ({})", symbol_names_[op.symbol], expr(op.lo),
                                          expr(op.hi), expr(op.step), names(op.operands)));
        return line("}}{}", results(op));
      case OpKind::While:
        nested(op.regions[0], fmt::format("while ({})", names(op.operands)));
        nested(op.regions[1], "} do");
        return line("}}{}", results(op));
      case OpKind::If:
        nested(op.regions[0], "if " + test(op));
        nested(op.regions[1], "} else");
        return line("}}{}", results(op));
    }
  }

  const Program& program_;
  std::vector<std::string> symbol_names_;
  std::unordered_map<ValueId, size_t> numbers_;
  std::string out_;
  size_t indent_ = 0;
};

}  // namespace

std::string print(const Program& program) { return Printer(program).run(); }

}  // namespace ferrule
