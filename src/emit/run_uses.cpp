#include <algorithm>

#include "emit/run_text.h"

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

// Functors of at least this cost may be in rt/vmath.h; cheaper ones are in rt/ops.h (a test compares them).
constexpr int kVmathCost = 12;

}  // namespace

std::set<std::string> headers_of(const loops::Loops& loops) {
  std::set<std::string> headers = {"ops.h"};
  for_each_stmt(loops.body, [&](const Stmt& stmt) {
    const Nest* nest = std::get_if<Nest>(&stmt.node);
    if (nest == nullptr) return;
    for (const Instr& instr : nest->body) {
      if (instr.code == Code::Element) headers.insert(info(instr.op).cost >= kVmathCost ? "vmath.h" : "ops.h");
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
  if (const While* loop = std::get_if<While>(&stmt.node))
    return is_extractable(loop->test) && is_extractable(loop->body);
  return false;
}

bool RunText::is_extractable(const Block& block) const {
  return std::all_of(block.begin(), block.end(), [&](const Stmt& stmt) {
    if (const Nest* nest = std::get_if<Nest>(&stmt.node)) return nest->axes.empty();
    if (const For* loop = std::get_if<For>(&stmt.node)) return is_extractable(loop->body);
    if (const While* loop = std::get_if<While>(&stmt.node))
      return is_extractable(loop->test) && is_extractable(loop->body);
    if (const If* branch = std::get_if<If>(&stmt.node)) {
      return is_extractable(branch->then_block) && is_extractable(branch->else_block);
    }
    return std::holds_alternative<Define>(stmt.node) || std::holds_alternative<Check>(stmt.node);
  });
}

}  // namespace ferrule
