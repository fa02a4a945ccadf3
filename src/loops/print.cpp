#include <fmt/format.h>

#include "loops/loops.h"

namespace ferrule::loops {
namespace {

class Printer {
 public:
  explicit Printer(const Loops& loops) : loops_(loops), names_(loops.symbols.names()) {}

  std::string run() {
    line("loops {}{}", loops_.name, loops_.alias_safe ? " alias_safe" : "");
    indent_ = 1;
    for (const Guard& guard : loops_.guards) line("guard {}", to_string(guard.condition, names_));
    for (const Buffer& buffer : loops_.buffers) print_buffer(buffer);
    for (const auto& [a, b] : loops_.distinct) line("distinct {}, {}", loops_.buffers[a].name, loops_.buffers[b].name);
    for (const AliasPair& pair : loops_.alias) {
      line("alias {}, {}: {}", loops_.arguments[pair.written].name, loops_.arguments[pair.other].name, pair.allowed);
    }
    line("arena {}", text(loops_.arena_bytes));
    line("work {}", text(loops_.work));
    print_block(loops_.body);
    for (const Return& ret : loops_.returns) print_return(ret);
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(size_t(indent_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  std::string text(const Expr& expr) const { return to_string(expr, names_); }

  std::string list(const std::vector<Expr>& exprs) const {
    std::string result;
    for (const Expr& expr : exprs) result += (result.empty() ? "" : ", ") + text(expr);
    return "[" + result + "]";
  }

  std::string text(const Access& access) const {
    const std::string& name = loops_.buffers[access.buffer].name;
    return access.flat ? fmt::format("{}{{{}}}", name, text(*access.flat)) : name + list(access.index);
  }

  void print_buffer(const Buffer& buffer) {
    std::string where;
    switch (buffer.place) {
      case Place::Argument:
        where = fmt::format("argument {}", buffer.index);
        break;
      case Place::Return:
        where = fmt::format("return {}", buffer.index);
        break;
      case Place::Dynamic:
        where = fmt::format("dynamic {}", buffer.index);
        break;
      case Place::Constant:
        where = fmt::format("constant {} bytes", buffer.bytes.size());
        break;
      case Place::Arena:
        where = fmt::format("arena {}", text(buffer.offset));
        break;
      case Place::Scratch:
        where = "scratch";
        break;
      case Place::Local:
        where = "local";
        break;
      case Place::Pointer: {
        for (BufferId b : buffer.may_be) where += (where.empty() ? "pointer " : " or ") + loops_.buffers[b].name;
        break;
      }
      case Place::Alias:
        where = fmt::format("alias {} + {}", loops_.buffers[buffer.base].name, text(buffer.offset));
        break;
    }
    if (buffer.slots > 1) where += fmt::format(" slots {}", buffer.slots);
    line("buffer {}: {}{} strides {} {}", buffer.name, short_name(buffer.dtype), list(buffer.shape),
         list(buffer.strides), where);
  }

  void print_instr(const Instr& instr) {
    const std::string_view type = short_name(instr.dtype);
    switch (instr.code) {
      case Code::Constant:
        line("r{} = constant {} {:#x}", instr.dst, type, instr.bits);
        break;
      case Code::Index:
        line("r{} = index {}", instr.dst, text(instr.expr));
        break;
      case Code::Load:
        line("r{} = load {}", instr.dst, text(instr.access));
        break;
      case Code::Element: {
        std::string operands;
        for (int operand : instr.src) operands += fmt::format("{}r{}", operands.empty() ? "" : ", ", operand);
        line("r{} = {} {} {}", instr.dst, info(instr.op).name, type, operands);
        break;
      }
      case Code::Cast:
        line("r{} = cast {} r{}", instr.dst, type, instr.src[0]);
        break;
      case Code::Store:
        line("store {} = r{}", text(instr.access), instr.src[0]);
        break;
    }
  }

  void print_stmt(const Nest& nest) {
    std::string axes;
    for (const Axis& axis : nest.axes) {
      axes += fmt::format("{}{}{}: {}{}", axes.empty() ? "" : ", ", axis.kind == AxisKind::Reduction ? "over " : "",
                          names_(axis.variable), text(axis.extent), axis.descending ? " down" : "");
    }
    line("nest {} ({})", nest.order == Order::Free ? "free" : "sequential", axes);
    ++indent_;
    for (const Instr& instr : nest.body) print_instr(instr);
    for (const Reduction& reduction : nest.reductions) {
      line("reduce {} = {} {} r{}", text(reduction.target), info(reduction.op).name, short_name(reduction.dtype),
           reduction.value);
    }
    --indent_;
  }
  void print_stmt(const For& loop) {
    line("for {} = {} to {} by {}", names_(loop.variable), text(loop.lo), text(loop.hi), text(loop.step));
    print_block(loop.body);
  }
  void print_stmt(const While& loop) {
    line("while");
    print_block(loop.test);
    line("holds {}", text(loop.condition));
    print_block(loop.body);
  }
  void print_stmt(const If& branch) {
    line("if {}", branch.condition ? to_string(*branch.condition, names_) : text(branch.flag));
    print_block(branch.then_block);
    line("else");
    print_block(branch.else_block);
  }
  void print_stmt(const Define& define) { line("define {} = {}", names_(define.symbol), text(define.value)); }
  void print_stmt(const BindAll& all) {
    std::string binds;
    for (const Bind& bind : all.binds) {
      binds +=
          fmt::format("{}{} = &{}", binds.empty() ? "" : ", ", loops_.buffers[bind.pointer].name, text(bind.target));
    }
    line("bind {}", binds);
  }
  void print_stmt(const Make& make) {
    std::string avoid;
    for (BufferId b : make.avoid) avoid += (avoid.empty() ? " avoiding " : ", ") + loops_.buffers[b].name;
    line("make {}{}", loops_.buffers[make.buffer].name, avoid);
  }
  void print_stmt(const Check& check) {
    line("check {} code {}", check.condition ? to_string(*check.condition, names_) : text(check.flag), check.code);
  }

  void print_block(const Block& block) {
    ++indent_;
    for (const Stmt& stmt : block) std::visit([&](const auto& node) { print_stmt(node); }, stmt.node);
    --indent_;
  }

  void print_return(const Return& ret) {
    switch (ret.kind) {
      case FR_RETURN_ARRAY:
        line("return array {}{}", short_name(ret.dtype), list(ret.shape));
        break;
      case FR_RETURN_DYNAMIC:
        line("return dynamic {}{}", short_name(ret.dtype), list(ret.shape));
        break;
      case FR_RETURN_SCALAR:
        line("return {}scalar {}", ret.weak ? "weak " : "", short_name(ret.dtype));
        break;
      case FR_RETURN_ARGUMENT:
        line("return argument {}", loops_.arguments[ret.argument].name);
        break;
      case FR_RETURN_VIEW:
        line("return view {} + {} bytes {} strides {}", loops_.arguments[ret.argument].name, text(ret.byte_offset),
             list(ret.shape), list(ret.strides));
        break;
      default:
        line("return none");
    }
  }

  const Loops& loops_;
  SymbolNames names_;
  std::string text_;
  int indent_ = 0;
};

}  // namespace

std::string print(const Loops& loops) { return Printer(loops).run(); }

}  // namespace ferrule::loops
