#include "program/normalize.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "program/visit.h"

namespace ferrule {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Program& program)
      : program_(program), used_values_(program.values.size()), used_symbols_(program.symbols.size()) {}

  void run() {
    for (const Result& result : program_.results)
      if (result.kind == ResultKind::Value) use_value(result.value);
    std::vector<bool> known(program_.symbols.size());
    find_brought(program_.body, known);
    sweep(program_.body);
  }

 private:
  // Notes the results of loops and branches that give a size its value, which may be all that is used of them.
  void find_brought(const Region& region, std::vector<bool>& known) {
    std::vector<SymbolId> here;
    const auto define = [&](SymbolId id) {
      if (known[id]) return false;
      known[id] = true;
      here.push_back(id);
      return true;
    };
    const auto define_sizes = [&](ValueId id) {
      const ValueType& type = program_.values[id];
      std::vector<Expr> sizes = type.shape;
      if (type.kind == ValueKind::View)
        sizes.insert(sizes.end(), program_.buffers[type.buffer].strides.begin(),
                     program_.buffers[type.buffer].strides.end());
      std::vector<SymbolId> defined;
      for (const Expr& size : sizes) {
        const auto symbol = size.as_symbol();
        if (symbol && program_.symbols[*symbol].kind == SymbolKind::Opaque && define(*symbol))
          defined.push_back(*symbol);
      }
      return defined;
    };
    for (const ValueId id : region.params) define_sizes(id);
    for (const Op& op : region.ops) {
      for (const Region& inner : op.regions) find_brought(inner, known);
      if (op.kind == OpKind::Symbolize) define(op.symbol);
      if (op.regions.empty()) continue;
      for (const ValueId id : op.results) brought_[id] = define_sizes(id);
    }
    for (const SymbolId id : here) known[id] = false;
  }

  void use_symbols(const Expr& expr) {
    for (const SymbolId id : expr.symbols()) used_symbols_[id] = true;
  }

  void use_buffer(BufferId id) {
    if (!used_buffers_.insert(id).second) return;
    for_each_expr_of_buffer(program_.buffers[id], [&](const Expr& e) { use_symbols(e); });
    if (program_.buffers[id].base != kNone) use_buffer(program_.buffers[id].base);
  }

  void use_value(ValueId id) {
    if (used_values_[id]) return;
    used_values_[id] = true;
    for_each_expr_of_type(program_.values[id], [&](const Expr& e) { use_symbols(e); });
    if (program_.values[id].buffer != kNone) use_buffer(program_.values[id].buffer);
  }

  static bool has_effect(const Op& op) {
    if (op.kind == OpKind::Store || op.kind == OpKind::Check || op.kind == OpKind::While) return true;
    for (const Region& region : op.regions)
      for (const Op& inner : region.ops)
        if (has_effect(inner)) return true;
    return false;
  }

  bool needed(const Op& op) const {
    if (has_effect(op)) return true;
    if (op.kind == OpKind::Symbolize) return used_symbols_[op.symbol];
    if (op.kind == OpKind::Alloc && used_buffers_.contains(op.buffer)) return true;
    return std::any_of(op.results.begin(), op.results.end(), [&](ValueId id) {
      const auto brought = brought_.find(id);
      return used_values_[id] ||
             (brought != brought_.end() && std::any_of(brought->second.begin(), brought->second.end(),
                                                       [&](SymbolId symbol) { return used_symbols_[symbol]; }));
    });
  }

  void sweep(Region& region) {
    for (const ValueId id : region.yields) use_value(id);
    for (auto op = region.ops.rbegin(); op != region.ops.rend(); ++op) {
      if (!needed(*op)) {
        op->results.clear();
        op->kind = OpKind::Constant;  // marks it for the erase below: a kept operation of this kind has a result
        continue;
      }
      for_each_expr_of_op(*op, [&](const Expr& e) { use_symbols(e); });
      for (const ValueId id : op->operands) use_value(id);
      for (const ValueId id : op->results) use_value(id);
      for (auto inner = op->regions.rbegin(); inner != op->regions.rend(); ++inner) {
        for (const ValueId id : inner->params) use_value(id);
        sweep(*inner);
      }
    }
    std::erase_if(region.ops, [](const Op& op) { return op.kind == OpKind::Constant && op.results.empty(); });
  }

  Program& program_;
  std::vector<bool> used_values_;
  std::vector<bool> used_symbols_;
  std::set<BufferId> used_buffers_;
  std::map<ValueId, std::vector<SymbolId>> brought_;
};

// "carried_12" and "carried" have the stem "carried".
std::string stem(const std::string& name) {
  const size_t last = name.find_last_not_of("0123456789");
  if (last == std::string::npos || last + 1 == name.size() || last == 0) return name;
  return name[last] == '_' ? name.substr(0, last) : name;
}

class Renumbering {
 public:
  explicit Renumbering(Program& program)
      : program_(program),
        values_(program.values.size(), kNone),
        buffers_(program.buffers.size(), kNone),
        symbols_(program.symbols.size(), kNone) {}

  void run() {
    number_callers_symbols();
    for (Argument& argument : program_.arguments) {
      map_buffer(argument.buffer);
      map_value(argument.value);
      if (argument.symbol != kNone) argument.symbol = symbol(argument.symbol);
    }
    for (SymbolSource& source : program_.sources) source.symbol = symbol(source.symbol);
    for (Guard& guard : program_.guards) {
      guard.condition.left = expr(guard.condition.left);
      guard.condition.right = expr(guard.condition.right);
    }
    visit(program_.body);
    for (Result& result : program_.results)
      if (result.kind == ResultKind::Value) map_value(result.value);
    finish_buffers();
    program_.values = std::move(new_values_);
    program_.buffers = std::move(new_buffers_);
    program_.symbols = std::move(new_symbols_);
  }

 private:
  // Those with a source keep their order and their names.
  void number_callers_symbols() {
    std::vector<bool> kept(symbols_.size());
    for (const SymbolSource& source : program_.sources) kept[source.symbol] = true;
    for (const Argument& argument : program_.arguments)
      if (argument.symbol != kNone) kept[argument.symbol] = true;
    for (SymbolId id = 0; id < symbols_.size(); ++id)
      if (kept[id]) add_symbol(id, program_.symbols[id].name);
  }

  void add_symbol(SymbolId id, const std::string& name) {
    const Symbol& old = program_.symbols[id];
    symbols_[id] = new_symbols_.add(name, old.kind, old.nonnegative);
  }

  SymbolId symbol(SymbolId id) {
    if (symbols_[id] == kNone) {
      const Symbol& old = program_.symbols[id];
      const bool inner = old.kind == SymbolKind::Loop || old.kind == SymbolKind::Opaque;
      add_symbol(id, inner ? stem(old.name) : old.name);
    }
    return symbols_[id];
  }

  Expr expr(const Expr& e) {
    const std::vector<SymbolId> ids = e.symbols();
    bool changed = false;
    for (const SymbolId id : ids) changed = (symbol(id) != id) || changed;
    if (!changed) return e;
    return e.substitute([&](SymbolId id) { return std::optional<Expr>(Expr::symbol(symbols_[id])); });
  }

  void map_buffer(BufferId& id) {
    if (id == kNone) return;
    if (buffers_[id] == kNone) {
      Buffer buffer = program_.buffers[id];
      if (buffer.base != kNone) map_buffer(buffer.base);
      for_each_expr_of_buffer(buffer, [&](Expr& e) { e = expr(e); });
      buffers_[id] = static_cast<BufferId>(new_buffers_.size());
      new_buffers_.push_back(std::move(buffer));
    }
    id = buffers_[id];
  }

  void map_value(ValueId& id) {
    if (id == kNone) return;
    if (values_[id] == kNone) {
      ValueType type = program_.values[id];
      for_each_expr_of_type(type, [&](Expr& e) { e = expr(e); });
      map_buffer(type.buffer);
      values_[id] = static_cast<ValueId>(new_values_.size());
      new_values_.push_back(std::move(type));
    }
    id = values_[id];
  }

  void visit(Region& region) {
    for (ValueId& id : region.params) map_value(id);
    for (Op& op : region.ops) {
      for (ValueId& id : op.operands) map_value(id);
      if (op.symbol != kNone) op.symbol = symbol(op.symbol);
      for_each_expr_of_op(op, [&](Expr& e) { e = expr(e); });
      map_buffer(op.buffer);
      for (Region& inner : op.regions) visit(inner);
      for (ValueId& id : op.results) map_value(id);
    }
    for (ValueId& id : region.yields) map_value(id);
  }

  void finish_buffers() {
    std::set<std::string> names;
    for (size_t i = 0; i < new_buffers_.size(); ++i) {
      std::vector<BufferId> may_be = new_buffers_[i].may_be;
      for (BufferId& id : may_be) map_buffer(id);
      std::sort(may_be.begin(), may_be.end());
      new_buffers_[i].may_be = std::move(may_be);
    }
    for (Buffer& buffer : new_buffers_) {
      const std::string base = buffer.storage == Storage::Argument ? buffer.name : stem(buffer.name);
      std::string name = base;
      for (int suffix = 1; !names.insert(name).second; ++suffix) name = base + "_" + std::to_string(suffix);
      buffer.name = std::move(name);
    }
  }

  Program& program_;
  std::vector<ValueId> values_;
  std::vector<BufferId> buffers_;
  std::vector<SymbolId> symbols_;
  std::vector<ValueType> new_values_;
  std::vector<Buffer> new_buffers_;
  Symbols new_symbols_;
};

}  // namespace

void close_may_be(Program& program) {
  std::vector<std::vector<BufferId>> closed(program.buffers.size());
  for (BufferId start = 0; start < program.buffers.size(); ++start) {
    if (program.buffers[start].storage != Storage::Carried) continue;
    std::set<BufferId> seen, roots;
    std::vector<BufferId> open = {start};
    while (!open.empty()) {
      const BufferId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      const Buffer& buffer = program.buffers[id];
      if (buffer.storage == Storage::Carried)
        open.insert(open.end(), buffer.may_be.begin(), buffer.may_be.end());
      else if (buffer.storage == Storage::Alias)
        open.push_back(buffer.base);
      else
        roots.insert(id);
    }
    closed[start].assign(roots.begin(), roots.end());
  }
  for (BufferId id = 0; id < program.buffers.size(); ++id) program.buffers[id].may_be = std::move(closed[id]);
}

std::vector<BufferId> roots_of(const Program& program, BufferId buffer) {
  while (program.buffers[buffer].storage == Storage::Alias) buffer = program.buffers[buffer].base;
  if (program.buffers[buffer].storage == Storage::Carried) return program.buffers[buffer].may_be;
  return {buffer};
}

void remove_dead(Program& program) { DeadCode(program).run(); }

void set_access_flags(Program& program) {
  for (Argument& argument : program.arguments) argument.read = argument.written = false;
  for_each_op(program.body, [&](const Op& op) {
    if (op.kind != OpKind::Load && op.kind != OpKind::Store) return;
    for (const BufferId id : roots_of(program, program.values[op.operands[0]].buffer)) {
      const Buffer& buffer = program.buffers[id];
      if (buffer.storage != Storage::Argument) continue;
      Argument& argument = program.arguments[buffer.argument];
      (op.kind == OpKind::Load ? argument.read : argument.written) = true;
    }
  });
}

void canonicalize_sizes(Program& program) {
  Facts facts(&program.symbols);
  bool equalities = false;
  for (const Guard& guard : program.guards) {
    facts.assume(guard.condition);
    equalities = equalities || guard.condition.relation == Relation::Eq;
  }
  if (!equalities) return;
  const auto rewrite = [&](Expr& e) { e = facts.canonical(e); };
  for (ValueType& type : program.values) for_each_expr_of_type(type, rewrite);
  for (Buffer& buffer : program.buffers)
    if (buffer.storage != Storage::Argument) for_each_expr_of_buffer(buffer, rewrite);
  for_each_op(program.body, [&](Op& op) { for_each_expr_of_op(op, rewrite); });
}

void renumber(Program& program) { Renumbering(program).run(); }

}  // namespace ferrule
