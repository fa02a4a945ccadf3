#include "emit/run_text.h"

#include <algorithm>

#include "emit/literal.h"

namespace ferrule {

using loops::BindAll;
using loops::Block;
using loops::Check;
using loops::Define;
using loops::For;
using loops::If;
using loops::Make;
using loops::Nest;
using loops::Place;
using loops::Stmt;
using loops::While;

std::string RunText::pointer_type(BufferId buffer) const {
  return std::string(cpp_name(loops_.buffers[buffer].dtype)) + "*";
}

std::string RunText::condition(const Condition& c) const {
  static const char* const relations[] = {"==", "!=", "<", "<="};
  return fmt::format("{} {} {}", expr(c.left), relations[int(c.relation)], expr(c.right));
}

void RunText::write_check(const Check& check, Text& text) {
  const std::string holds =
      check.condition ? condition(*check.condition) : NestText(loops_, aliases_, names_, text).element(check.flag);
  std::string values;
  for (size_t k = 0; k < 4; ++k)
    values += (k == 0 ? "" : ", ") + (k < check.values.size() ? expr(check.values[k]) : "0");
  text.open("if (__builtin_expect(!({}), 0))", holds);
  text.line("const int64_t values[4] = {{{}}};", values);
  text.line("call->host->set_error(call->ctx, {}, {}, values);", check.code, check.site);
  text.line("return FR_STATUS_ERROR;");
  text.close();
}

void RunText::write_bind(const BindAll& all, Text& text) {
  const auto target = [&](const loops::Bind& bind) {
    const std::string address = NestText(loops_, aliases_, names_, text).address(bind.target);
    const bool constant = loops_.buffers[pointer_of(loops_, bind.target.buffer).first].place == Place::Constant;
    return constant ? fmt::format("const_cast<{}>({})", pointer_type(bind.pointer), address) : address;
  };
  if (all.binds.size() == 1) {
    text.line("{} = {};", names_.buffer(all.binds[0].pointer), target(all.binds[0]));
    return;
  }
  text.raw("{");
  for (size_t k = 0; k < all.binds.size(); ++k) {
    text.line("  {} const bind{} = {};", pointer_type(all.binds[k].pointer), k, target(all.binds[k]));
  }
  for (size_t k = 0; k < all.binds.size(); ++k) text.line("  {} = bind{};", names_.buffer(all.binds[k].pointer), k);
  text.raw("}");
}

void RunText::write_make(const Make& make, Text& text) {
  const loops::Buffer& buffer = loops_.buffers[make.buffer];
  const std::string& name = names_.buffer(make.buffer);
  const std::string type(cpp_name(buffer.dtype));
  if (buffer.place == Place::Dynamic) {
    std::string extents;
    for (const Expr& extent : buffer.shape) extents += (extents.empty() ? "" : ", ") + expr(extent);
    text.raw("{");
    text.line("  const int64_t shape[] = {{{}}};", extents);
    text.line("  {} = static_cast<{}*>(call->host->alloc_return(call->ctx, {}, {}, shape));", name, type, buffer.index,
              buffer.shape.size());
    text.line("  if ({} == nullptr) return FR_STATUS_ERROR;", name);
    text.raw("}");
    return;
  }
  if (buffer.place == Place::Scratch) {
    std::string bytes = std::to_string(item_size(buffer.dtype));
    for (const Expr& extent : buffer.shape) bytes = fmt::format("fr_bytes({}, {})", bytes, expr(extent));
    text.raw("{");
    text.line("  const int64_t bytes = {};", bytes);
    if (buffer.slots == 1) {
      // Memory that is made again and again grows by doubling, so that all of it stays within four times the largest.
      text.line("  if (bytes < 0 || bytes > {}_bytes || {} == nullptr) {{", name, name);
      text.line("    {0}_bytes = bytes < 0 ? bytes : fr_max(bytes, 2 * {0}_bytes);", name);
      text.line("    {0} = static_cast<{1}*>(call->host->alloc_scratch(call->ctx, {0}_bytes));", name, type);
      text.line("    if ({} == nullptr) return FR_STATUS_ERROR;", name);
      text.line("  }}");
    } else {
      text.line("  {} = static_cast<{}*>(call->host->alloc_scratch(call->ctx, bytes));", name, type);
      text.line("  if ({} == nullptr) return FR_STATUS_ERROR;", name);
    }
    text.raw("}");
    return;
  }
  if (buffer.slots == 1) return;
  std::string busy;
  for (BufferId pointer : make.avoid) {
    busy += fmt::format("{}(reinterpret_cast<char*>({}) >= memory && reinterpret_cast<char*>({}) < memory + bytes)",
                        busy.empty() ? "" : " || ", names_.buffer(pointer), names_.buffer(pointer));
  }
  text.open("for (int64_t slot = 0; slot < {}; ++slot)", buffer.slots);
  text.line("const int64_t bytes = {};", expr(buffer.slot_bytes));
  text.line("char* const memory = arena + {} + slot * bytes;", expr(buffer.offset));
  text.line("{} = reinterpret_cast<{}*>(memory);", name, type);
  text.line("if (!({})) break;", busy);
  text.close();
}

void RunText::write_control(const Stmt& stmt, Text& text) {
  if (const Nest* nest = std::get_if<Nest>(&stmt.node)) {
    NestText(loops_, aliases_, names_, text).write(*nest);
  } else if (const For* loop = std::get_if<For>(&stmt.node)) {
    const std::string& v = names_.symbol(loop->variable);
    const std::optional<int64_t> step = loop->step.constant();
    const bool down = step && *step < 0;
    const std::string advance = step == 1 ? "++" + v : fmt::format("{} += {}", v, expr(loop->step));
    text.open("for (int64_t {0} = {1}; {0} {2} {3}; {4})", v, expr(loop->lo), down ? ">" : "<", expr(loop->hi),
              advance);
    write_block(loop->body, text);
    text.close();
  } else if (const While* repeat = std::get_if<While>(&stmt.node)) {
    text.open("for (;;)");
    write_block(repeat->test, text);
    text.line("if (!{}) break;", NestText(loops_, aliases_, names_, text).element(repeat->condition));
    write_block(repeat->body, text);
    text.close();
  } else if (const If* branch = std::get_if<If>(&stmt.node)) {
    text.open("if ({})", branch->condition ? condition(*branch->condition)
                                           : NestText(loops_, aliases_, names_, text).element(branch->flag));
    write_block(branch->then_block, text);
    if (!branch->else_block.empty()) {
      text.close(" else {");
      text.indent();
      write_block(branch->else_block, text);
    }
    text.close();
  } else if (const Define* define = std::get_if<Define>(&stmt.node)) {
    text.line("{} = {};", names_.symbol(define->symbol),
              NestText(loops_, aliases_, names_, text).element(define->value));
  } else if (const Check* check = std::get_if<Check>(&stmt.node)) {
    write_check(*check, text);
  } else if (const BindAll* all = std::get_if<BindAll>(&stmt.node)) {
    write_bind(*all, text);
  } else if (const Make* make = std::get_if<Make>(&stmt.node)) {
    write_make(*make, text);
  }
}

// A static function of its own: restrict on parameters is what GCC honours, inlined or not.
void RunText::write_function(const Stmt& stmt, Text& caller) {
  const Uses uses = uses_of(stmt);
  const bool nest = std::holds_alternative<Nest>(stmt.node);
  const std::string name = fmt::format("{}{}", nest ? "nest" : "loop", function_count_++);
  std::string parameters, arguments;
  std::vector<std::string> entry, exit;  // copies of scalars in and out
  const auto add = [&](const std::string& parameter, const std::string& argument) {
    parameters += (parameters.empty() ? "" : ", ") + parameter;
    arguments += (arguments.empty() ? "" : ", ") + argument;
  };
  if (uses.checks) add("const FrCall* call", "call");
  for (BufferId buffer : uses.pointers) {
    const bool written = uses.written_pointers.count(buffer) > 0;
    bool shared = false;
    for (BufferId other : uses.pointers) {
      const bool conflict = written || uses.written_pointers.count(other) > 0;
      shared = shared || (other != buffer && conflict && aliases_.may_alias(buffer, other));
    }
    add(fmt::format("{}{} {}{}", written ? "" : "const ", pointer_type(buffer), shared ? "" : "__restrict ",
                    names_.buffer(buffer)),
        names_.buffer(buffer));
  }
  std::set<BufferId> variables = uses.variables;
  variables.insert(uses.written_variables.begin(), uses.written_variables.end());
  for (BufferId buffer : variables) {
    const std::string type(cpp_name(loops_.buffers[buffer].dtype));
    const std::string& variable = names_.buffer(buffer);
    if (!uses.written_variables.count(buffer)) {
      add(fmt::format("{} {}", type, variable), variable);
    } else if (variable_uses_[buffer] == 1) {
      entry.push_back(fmt::format("{} {} = {};", type, variable, literal(loops_.buffers[buffer].dtype, 0)));
    } else {
      add(fmt::format("{}& {}_out", type, variable), variable);
      entry.push_back(fmt::format("{0} {1} = {1}_out;", type, variable));
      exit.push_back(fmt::format("{0}_out = {0};", variable));
    }
  }
  for (SymbolId symbol : uses.symbols) add("int64_t " + names_.symbol(symbol), names_.symbol(symbol));
  for (SymbolId symbol : uses.defined) {
    const std::string& variable = names_.symbol(symbol);
    if (define_uses_[symbol] == 1) {
      entry.push_back(fmt::format("int64_t {} = 0;", variable));
    } else {
      add(fmt::format("int64_t& {}_out", variable), variable);
      entry.push_back(fmt::format("int64_t {0} = {0}_out;", variable));
      exit.push_back(fmt::format("{0}_out = {0};", variable));
    }
  }
  functions_.open("static {} {}({})", uses.checks ? "int32_t" : "void", name, parameters);
  for (const std::string& line : entry) functions_.raw(line);
  in_function_ = true;
  write_control(stmt, functions_);
  in_function_ = false;
  for (const std::string& line : exit) functions_.raw(line);
  if (uses.checks) functions_.line("return FR_OK;");
  functions_.close();
  functions_.blank();
  if (uses.checks)
    caller.line("if (const int32_t status = {}({})) return status;", name, arguments);
  else
    caller.line("{}({});", name, arguments);
}

void RunText::write_stmt(const Stmt& stmt, Text& text) {
  if (!in_function_ && becomes_function(stmt))
    write_function(stmt, text);
  else
    write_control(stmt, text);
}

void RunText::write_block(const Block& block, Text& text) {
  for (const Stmt& stmt : block) write_stmt(stmt, text);
}

}  // namespace ferrule
