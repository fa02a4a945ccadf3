#include "emit/run_text.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "emit/literal.h"

namespace ferrule {

using loops::Access;
using loops::BindAll;
using loops::Block;
using loops::Check;
using loops::Code;
using loops::Define;
using loops::For;
using loops::If;
using loops::Instr;
using loops::Make;
using loops::Nest;
using loops::Place;
using loops::Stmt;
using loops::While;

namespace {

// Constants up to this many elements are spelled as numbers, larger ones as one string of bytes, which parses faster.
constexpr size_t kSpelledElements = 1024;

std::string header_of(ElementOp op) {
  switch (op) {
    case ElementOp::exp:
    case ElementOp::exp2:
    case ElementOp::expm1:
    case ElementOp::log:
    case ElementOp::log2:
    case ElementOp::log10:
    case ElementOp::log1p:
    case ElementOp::logaddexp:
    case ElementOp::logaddexp2: return "exp_log.h";
    case ElementOp::sin:
    case ElementOp::cos:
    case ElementOp::tan:
    case ElementOp::arcsin:
    case ElementOp::arccos:
    case ElementOp::arctan:
    case ElementOp::arctan2: return "trig.h";
    case ElementOp::sinh:
    case ElementOp::cosh:
    case ElementOp::tanh:
    case ElementOp::arcsinh:
    case ElementOp::arccosh:
    case ElementOp::arctanh: return "hyperbolic.h";
    case ElementOp::power:
    case ElementOp::float_power:
    case ElementOp::cbrt:
    case ElementOp::hypot: return "power.h";
    default: return "ops.h";
  }
}

}  // namespace

std::set<std::string> headers_of(const loops::Loops& loops) {
  std::set<std::string> headers = {"ops.h"};
  for_each_stmt(loops.body, [&](const Stmt& stmt) {
    const Nest* nest = std::get_if<Nest>(&stmt.node);
    if (nest == nullptr) return;
    for (const Instr& instr : nest->body) {
      if (instr.code == Code::Element) headers.insert(header_of(instr.op));
    }
    if (!nest->reductions.empty()) headers.insert("reduce.h");
  });
  return headers;
}

RunText::RunText(const loops::Loops& loops, std::string entry)
    : loops_(loops), entry_(std::move(entry)), aliases_(loops), names_(loops) {
  count_all();
}

void RunText::add_expr(Uses& uses, const Expr& expr) const {
  for (SymbolId id : expr.symbols()) uses.symbols.insert(id);
}

void RunText::add_access(Uses& uses, const Access& access, bool written) const {
  if (is_variable(loops_, access.buffer)) {
    (written ? uses.written_variables : uses.variables).insert(access.buffer);
    return;
  }
  const auto [base, offset] = pointer_of(loops_, access.buffer);
  if (loops_.buffers[base].place != Place::Constant) {
    uses.pointers.insert(base);
    if (written) uses.written_pointers.insert(base);
  }
  add_expr(uses, linear_address(loops_, access) + offset);
}

RunText::Uses RunText::uses_of(const Stmt& stmt) const {
  Uses uses;
  std::set<SymbolId> bound;
  Block one{stmt};
  for_each_access(stmt, [&](const Access& access, bool written) { add_access(uses, access, written); });
  for_each_stmt(one, [&](const Stmt& s) {
    if (const Nest* nest = std::get_if<Nest>(&s.node)) {
      for (const loops::Axis& axis : nest->axes) {
        add_expr(uses, axis.extent);
        bound.insert(axis.variable);
      }
      for (const Instr& instr : nest->body) {
        if (instr.code == Code::Index) add_expr(uses, instr.expr);
      }
    } else if (const For* loop = std::get_if<For>(&s.node)) {
      add_expr(uses, loop->lo), add_expr(uses, loop->hi), add_expr(uses, loop->step);
      bound.insert(loop->variable);
    } else if (const If* branch = std::get_if<If>(&s.node)) {
      if (branch->condition) add_expr(uses, branch->condition->left), add_expr(uses, branch->condition->right);
    } else if (const Check* check = std::get_if<Check>(&s.node)) {
      uses.checks = true;
      if (check->condition) add_expr(uses, check->condition->left), add_expr(uses, check->condition->right);
      for (const Expr& value : check->values) add_expr(uses, value);
    } else if (const Define* define = std::get_if<Define>(&s.node)) {
      uses.defined.insert(define->symbol);
    }
  });
  for (SymbolId id : bound) uses.symbols.erase(id);
  for (SymbolId id : uses.defined) uses.symbols.erase(id);
  return uses;
}

void RunText::count_all() {
  variable_uses_.assign(loops_.buffers.size(), 0);
  define_uses_.assign(loops_.symbols.size(), 0);
  // By outermost statements that could become functions: what is counted once is private to one of them.
  const auto count = [&](const auto& self, const Block& block) -> void {
    for (const Stmt& stmt : block) {
      if (const bool function = becomes_function(stmt); function || std::holds_alternative<Nest>(stmt.node)) {
        const int weight = function ? 1 : 2;
        const Uses uses = uses_of(stmt);
        std::set<BufferId> variables = uses.variables;
        variables.insert(uses.written_variables.begin(), uses.written_variables.end());
        for (BufferId b : variables) variable_uses_[b] += weight;
        for (SymbolId s : uses.symbols) define_uses_[s] += weight;
        for (SymbolId s : uses.defined) define_uses_[s] += weight;
        continue;
      }
      // Control flow of `run` itself: whatever it names is not private.
      Stmt shell = stmt;
      if (For* f = std::get_if<For>(&shell.node)) f->body.clear();
      if (While* w = std::get_if<While>(&shell.node)) w->test.clear(), w->body.clear();
      if (If* b = std::get_if<If>(&shell.node)) b->then_block.clear(), b->else_block.clear();
      const Uses uses = uses_of(shell);
      for (BufferId b : uses.variables) variable_uses_[b] += 2;
      for (SymbolId s : uses.symbols) define_uses_[s] += 2;
      for (SymbolId s : uses.defined) define_uses_[s] += 2;
      if (const BindAll* all = std::get_if<BindAll>(&stmt.node)) {
        for (const loops::Bind& bind : all->binds) {
          Uses target;
          add_access(target, bind.target, false);
          for (SymbolId s : target.symbols) define_uses_[s] += 2;
        }
      }
      if (const Make* make = std::get_if<Make>(&stmt.node)) {
        Uses size;
        for (const Expr& extent : loops_.buffers[make->buffer].shape) add_expr(size, extent);
        for (SymbolId s : size.symbols) define_uses_[s] += 2;
      }
      if (const For* f = std::get_if<For>(&stmt.node)) self(self, f->body);
      if (const While* w = std::get_if<While>(&stmt.node)) self(self, w->test), self(self, w->body);
      if (const If* b = std::get_if<If>(&stmt.node)) self(self, b->then_block), self(self, b->else_block);
    }
  };
  count(count, loops_.body);
  for (const loops::Return& ret : loops_.returns) {
    Uses view;
    add_expr(view, ret.byte_offset);
    for (const Expr& e : ret.shape) add_expr(view, e);
    for (const Expr& e : ret.strides) add_expr(view, e);
    for (SymbolId s : view.symbols) define_uses_[s] += 2;
  }
}

// One function for each nest with loops, and for each loop over scalar code alone.
bool RunText::becomes_function(const Stmt& stmt) const {
  if (const Nest* nest = std::get_if<Nest>(&stmt.node)) return !nest->axes.empty();
  if (const For* loop = std::get_if<For>(&stmt.node)) return is_extractable(loop->body);
  if (const While* loop = std::get_if<While>(&stmt.node)) return is_extractable(loop->test) && is_extractable(loop->body);
  return false;
}

bool RunText::is_extractable(const Block& block) const {
  return std::all_of(block.begin(), block.end(), [&](const Stmt& stmt) {
    if (const Nest* nest = std::get_if<Nest>(&stmt.node)) return nest->axes.empty();
    if (const For* loop = std::get_if<For>(&stmt.node)) return is_extractable(loop->body);
    if (const While* loop = std::get_if<While>(&stmt.node)) return is_extractable(loop->test) && is_extractable(loop->body);
    if (const If* branch = std::get_if<If>(&stmt.node)) {
      return is_extractable(branch->then_block) && is_extractable(branch->else_block);
    }
    return std::holds_alternative<Define>(stmt.node) || std::holds_alternative<Check>(stmt.node);
  });
}

std::string RunText::pointer_type(BufferId buffer) const {
  return std::string(cpp_name(loops_.buffers[buffer].dtype)) + "*";
}

std::string RunText::condition(const Condition& c) const {
  static const char* const relations[] = {"==", "!=", "<", "<="};
  return fmt::format("{} {} {}", expr(c.left), relations[int(c.relation)], expr(c.right));
}

void RunText::write_constants() {
  for (BufferId id = 0; id < loops_.buffers.size(); ++id) {
    const loops::Buffer& buffer = loops_.buffers[id];
    if (buffer.place != Place::Constant) continue;
    const size_t item = size_t(item_size(buffer.dtype)), count = buffer.bytes.size() / item;
    const std::string type(cpp_name(buffer.dtype));
    const std::string& name = names_.buffer(id);
    if (count == 0) {
      functions_.line("static const {} {}[1] = {{}};", type, name);
    } else if (count <= kSpelledElements) {
      std::string items;
      for (size_t k = 0; k < count; ++k) {
        uint64_t bits = 0;
        std::memcpy(&bits, buffer.bytes.data() + k * item, item);
        items += (k == 0 ? "" : ", ") + literal(buffer.dtype, bits);
      }
      functions_.line("alignas(64) static const {} {}[{}] = {{{}}};", type, name, count, items);
    } else {
      const std::string_view bytes(reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size());
      functions_.line("alignas(64) static const char {}_bytes[] = {};", name, quoted(bytes));
      functions_.line("static const {0}* const {1} = reinterpret_cast<const {0}*>({1}_bytes);", type, name);
    }
  }
}

void RunText::write_check(const Check& check, Text& text) {
  const std::string holds = check.condition ? condition(*check.condition)
                                            : NestText(loops_, aliases_, names_, text).element(check.flag);
  std::string values;
  for (size_t k = 0; k < 4; ++k) values += (k == 0 ? "" : ", ") + (k < check.values.size() ? expr(check.values[k]) : "0");
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
    const std::string bytes = expr(product(buffer.shape) * Expr(int64_t(item_size(buffer.dtype))));
    text.raw("{");
    text.line("  const int64_t bytes = {};", bytes);
    if (buffer.slots == 1) {
      // Memory that is made again and again grows by doubling, so that all of it stays within four times the largest.
      text.line("  if (bytes > {}_bytes || {} == nullptr) {{", name, name);
      text.line("    {0}_bytes = fr_max(bytes, 2 * {0}_bytes);", name);
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
    text.open("for (int64_t {0} = {1}; {0} {2} {3}; {4})", v, expr(loop->lo), down ? ">" : "<", expr(loop->hi), advance);
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
    text.line("{} = {};", names_.symbol(define->symbol), NestText(loops_, aliases_, names_, text).element(define->value));
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
  if (uses.checks) caller.line("if (const int32_t status = {}({})) return status;", name, arguments);
  else caller.line("{}({});", name, arguments);
}

void RunText::write_stmt(const Stmt& stmt, Text& text) {
  if (!in_function_ && becomes_function(stmt)) write_function(stmt, text);
  else write_control(stmt, text);
}

void RunText::write_block(const Block& block, Text& text) {
  for (const Stmt& stmt : block) write_stmt(stmt, text);
}

// Where arguments, results, scalars and memory come from: what the body names, nothing else.
void RunText::write_prologue(Text& text) {
  Uses all;
  for (const Stmt& stmt : loops_.body) {
    const Uses uses = uses_of(stmt);
    all.pointers.insert(uses.pointers.begin(), uses.pointers.end());
    all.variables.insert(uses.variables.begin(), uses.variables.end());
    all.variables.insert(uses.written_variables.begin(), uses.written_variables.end());
    all.symbols.insert(uses.symbols.begin(), uses.symbols.end());
    all.defined.insert(uses.defined.begin(), uses.defined.end());
  }
  for_each_stmt(loops_.body, [&](const Stmt& stmt) {
    if (const BindAll* binds = std::get_if<BindAll>(&stmt.node)) {
      for (const loops::Bind& bind : binds->binds) {
        all.pointers.insert(bind.pointer);
        add_access(all, bind.target, false);
      }
    }
    if (const Make* make = std::get_if<Make>(&stmt.node)) {
      all.pointers.insert(make->buffer);
      for (const Expr& extent : loops_.buffers[make->buffer].shape) add_expr(all, extent);
      add_expr(all, loops_.buffers[make->buffer].offset), add_expr(all, loops_.buffers[make->buffer].slot_bytes);
      for (BufferId pointer : make->avoid) all.pointers.insert(pointer);
    }
  });
  for (const loops::Return& ret : loops_.returns) {
    if (ret.kind != FR_RETURN_VIEW) continue;
    add_expr(all, ret.byte_offset);
    for (const Expr& e : ret.shape) add_expr(all, e);
    for (const Expr& e : ret.strides) add_expr(all, e);
  }
  bool arena = false;
  for (BufferId b : all.pointers) {
    if (loops_.buffers[b].place != Place::Arena) continue;
    arena = true;
    add_expr(all, loops_.buffers[b].offset);
  }

  for (size_t slot = 0; slot < loops_.sources.size(); ++slot) {
    const SymbolId symbol = loops_.sources[slot].symbol;
    if (all.symbols.count(symbol)) text.line("const int64_t {} = call->symbols[{}];", names_.symbol(symbol), slot);
  }
  for (SymbolId symbol : all.defined) {
    if (define_uses_[symbol] > 1) text.line("int64_t {} = 0;", names_.symbol(symbol));
  }
  if (arena) text.line("char* const arena = static_cast<char*>(call->arena);");
  for (BufferId b : all.variables) {
    const loops::Buffer& buffer = loops_.buffers[b];
    const std::string type(cpp_name(buffer.dtype));
    if (buffer.place == Place::Argument) {
      text.line("const {0} {1} = *static_cast<const {0}*>(call->args[{2}]);", type, names_.buffer(b), buffer.index);
    } else if (variable_uses_[b] > 1) {
      text.line("{} {} = {};", type, names_.buffer(b), literal(buffer.dtype, 0));
    }
  }
  for (BufferId b : all.pointers) {
    const loops::Buffer& buffer = loops_.buffers[b];
    const std::string type(cpp_name(buffer.dtype));
    const std::string& name = names_.buffer(b);
    switch (buffer.place) {
      case Place::Argument:
        text.line("{0}* const {1} = static_cast<{0}*>(call->args[{2}]);", type, name, buffer.index);
        break;
      case Place::Return:
        text.line("{0}* const {1} = static_cast<{0}*>(call->args[{2}]);", type, name,
                  int(loops_.arguments.size()) + buffer.index);
        break;
      case Place::Arena:
        text.line("{0}* {1}{2} = reinterpret_cast<{0}*>(arena + {3});", type, buffer.slots == 1 ? "const " : "", name,
                  expr(buffer.offset));
        break;
      case Place::Local:
        text.line("alignas(64) {} {}[{}];", type, name, expr(max(product(buffer.shape), 1)));
        break;
      case Place::Scratch:
        if (buffer.slots == 1) text.line("int64_t {}_bytes = 0;", name);
        [[fallthrough]];
      case Place::Dynamic:
      case Place::Pointer: text.line("{}* {} = nullptr;", type, name); break;
      case Place::Constant:
      case Place::Alias: break;
    }
  }
}

void RunText::write_views(Text& text) {
  for (size_t r = 0; r < loops_.returns.size(); ++r) {
    const loops::Return& ret = loops_.returns[r];
    if (ret.kind != FR_RETURN_VIEW) continue;
    std::string shape, strides;
    for (const Expr& e : ret.shape) shape += (shape.empty() ? "" : ", ") + expr(e);
    for (const Expr& e : ret.strides) strides += (strides.empty() ? "" : ", ") + expr(e);
    text.raw("{");
    text.line("  const int64_t shape[] = {{{}}}, strides[] = {{{}}};", shape.empty() ? "0" : shape,
              strides.empty() ? "0" : strides);
    text.line("  const int32_t status = call->host->view_return(call->ctx, {}, {}, {}, {}, shape, strides);", r,
              ret.argument, expr(ret.byte_offset), ret.shape.size());
    text.line("  if (status != FR_OK) return status;");
    text.raw("}");
  }
}

std::string RunText::write() {
  write_constants();
  functions_.blank();
  Text body;
  body.indent();
  write_block(loops_.body, body);
  write_views(body);
  body.line("return FR_OK;");
  Text head;
  head.indent();
  write_prologue(head);
  functions_.line("static int32_t {}(void* /*state*/, const FrCall* call) {{", entry_);
  functions_.append(head.take());
  functions_.append(body.take());
  functions_.line("}}");
  return functions_.take();
}

}  // namespace ferrule
