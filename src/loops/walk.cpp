#include "loops/walk.h"

#include <algorithm>
#include <set>

namespace ferrule::loops {
namespace {

bool intersects(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

template <class NestType, class Visit>
void nest_accesses(NestType& nest, const Visit& visit) {
  for (auto& instr : nest.body) {
    if (instr.code == Code::Load) visit(instr.access, false);
    if (instr.code == Code::Store) visit(instr.access, true);
  }
  for (auto& reduction : nest.reductions) visit(reduction.target, true);
}

}  // namespace

size_t AccessHash::operator()(const Access& access) const {
  size_t seed = access.buffer;
  const auto mix = [&](const Expr& expr) { seed ^= expr.hash() + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2); };
  for (const Expr& expr : access.index) mix(expr);
  if (access.flat) mix(*access.flat);
  return seed;
}

Aliases::Aliases(const Loops& loops) : distinct_(loops.distinct) {
  std::sort(distinct_.begin(), distinct_.end());
  const size_t count = loops.buffers.size();
  std::vector<std::set<BufferId>> roots(count);
  memory_.resize(count);
  for (BufferId b = 0; b < count; ++b) {
    const Place place = loops.buffers[b].place;
    if (place != Place::Pointer && place != Place::Alias) roots[b].insert(b);
    memory_[b] = b;
    while (loops.buffers[memory_[b]].place == Place::Alias) memory_[b] = loops.buffers[memory_[b]].base;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (BufferId b = 0; b < count; ++b) {
      const Buffer& buffer = loops.buffers[b];
      const size_t before = roots[b].size();
      if (buffer.place == Place::Alias) roots[b].insert(roots[buffer.base].begin(), roots[buffer.base].end());
      for (BufferId target : buffer.may_be) roots[b].insert(roots[target].begin(), roots[target].end());
      changed = changed || roots[b].size() != before;
    }
  }
  std::vector<BufferId> arguments;
  for (BufferId b = 0; b < count; ++b) {
    const bool array = loops.buffers[b].place == Place::Argument &&
                       loops.arguments[loops.buffers[b].index].kind == ArgumentKind::Array;
    if (array) arguments.push_back(b);
  }
  roots_.resize(count);
  for (BufferId b = 0; b < count; ++b) {
    if (loops.alias_safe) {
      const bool any =
          std::any_of(arguments.begin(), arguments.end(), [&](BufferId a) { return roots[b].count(a) > 0; });
      if (any) roots[b].insert(arguments.begin(), arguments.end());
    }
    roots_[b].assign(roots[b].begin(), roots[b].end());
  }
}

bool Aliases::may_alias(BufferId a, BufferId b) const {
  if (a == b) return true;
  if (!intersects(roots_[a], roots_[b])) return false;
  a = memory_[a], b = memory_[b];
  return a == b ||
         !std::binary_search(distinct_.begin(), distinct_.end(), std::make_pair(std::min(a, b), std::max(a, b)));
}

void for_each_access(const Nest& nest, const std::function<void(const Access&, bool)>& visit) {
  nest_accesses(nest, visit);
}
void for_each_access(Nest& nest, const std::function<void(Access&, bool)>& visit) { nest_accesses(nest, visit); }

void for_each_access(const Stmt& stmt, const std::function<void(const Access&, bool)>& visit) {
  struct Visitor {
    const std::function<void(const Access&, bool)>& visit;
    void operator()(const Nest& n) const { nest_accesses(n, visit); }
    void operator()(const For& n) const { for_each_access(n.body, visit); }
    void operator()(const While& n) const {
      for_each_access(n.test, visit);
      visit(n.condition, false);
      for_each_access(n.body, visit);
    }
    void operator()(const If& n) const {
      if (!n.condition) visit(n.flag, false);
      for_each_access(n.then_block, visit);
      for_each_access(n.else_block, visit);
    }
    void operator()(const Define& n) const { visit(n.value, false); }
    void operator()(const BindAll&) const {}
    void operator()(const Make&) const {}
    void operator()(const Check& n) const {
      if (!n.condition) visit(n.flag, false);
    }
  };
  std::visit(Visitor{visit}, stmt.node);
}

void for_each_access(const Block& block, const std::function<void(const Access&, bool)>& visit) {
  for (const Stmt& stmt : block) for_each_access(stmt, visit);
}

void for_each_stmt(const Block& block, const std::function<void(const Stmt&)>& visit) {
  for (const Stmt& stmt : block) {
    visit(stmt);
    if (const For* loop = std::get_if<For>(&stmt.node)) for_each_stmt(loop->body, visit);
    if (const While* loop = std::get_if<While>(&stmt.node)) {
      for_each_stmt(loop->test, visit);
      for_each_stmt(loop->body, visit);
    }
    if (const If* branch = std::get_if<If>(&stmt.node)) {
      for_each_stmt(branch->then_block, visit);
      for_each_stmt(branch->else_block, visit);
    }
  }
}

void for_each_block(Stmt& stmt, const std::function<void(Block&)>& visit) {
  if (For* loop = std::get_if<For>(&stmt.node)) visit(loop->body);
  if (While* loop = std::get_if<While>(&stmt.node)) visit(loop->test), visit(loop->body);
  if (If* branch = std::get_if<If>(&stmt.node)) visit(branch->then_block), visit(branch->else_block);
}

void for_each_nest(Block& block, const std::function<void(Nest&)>& visit) {
  for (Stmt& stmt : block) {
    for_each_block(stmt, [&](Block& inner) { for_each_nest(inner, visit); });
    if (Nest* nest = std::get_if<Nest>(&stmt.node)) visit(*nest);
  }
}

bool defines(const Stmt& stmt, SymbolId symbol) {
  bool found = false;
  Block one{stmt};
  for_each_stmt(one, [&](const Stmt& s) {
    if (const Define* define = std::get_if<Define>(&s.node)) found = found || define->symbol == symbol;
    if (const For* loop = std::get_if<For>(&s.node)) found = found || loop->variable == symbol;
  });
  return found;
}

std::vector<SymbolId> free_symbols(const Nest& nest) {
  std::set<SymbolId> symbols;
  const auto add = [&](const Expr& expr) {
    for (SymbolId id : expr.symbols()) symbols.insert(id);
  };
  const auto add_access = [&](const Access& access) {
    for (const Expr& expr : access.index) add(expr);
    if (access.flat) add(*access.flat);
  };
  for (const Axis& axis : nest.axes) add(axis.extent);
  for (const Instr& instr : nest.body) {
    if (instr.code == Code::Index) add(instr.expr);
    add_access(instr.access);
  }
  for (const Reduction& reduction : nest.reductions) add_access(reduction.target);
  for (const Axis& axis : nest.axes) symbols.erase(axis.variable);
  return {symbols.begin(), symbols.end()};
}

Expr linear_address(const Loops& loops, const Access& access) {
  if (access.flat) return *access.flat;
  const Buffer& buffer = loops.buffers[access.buffer];
  Expr address = 0;
  for (size_t axis = 0; axis < access.index.size(); ++axis) {
    address = address + access.index[axis] * buffer.strides[axis];
  }
  return address;
}

namespace {

// Calls for every buffer id that statements hold.
template <class Visit>
void visit_ids(Block& block, const Visit& visit) {
  for (Stmt& stmt : block) {
    if (Nest* nest = std::get_if<Nest>(&stmt.node)) {
      nest_accesses(*nest, [&](Access& access, bool) { visit(access.buffer); });
    } else if (For* loop = std::get_if<For>(&stmt.node)) {
      visit_ids(loop->body, visit);
    } else if (While* repeat = std::get_if<While>(&stmt.node)) {
      visit_ids(repeat->test, visit);
      visit(repeat->condition.buffer);
      visit_ids(repeat->body, visit);
    } else if (If* branch = std::get_if<If>(&stmt.node)) {
      if (!branch->condition) visit(branch->flag.buffer);
      visit_ids(branch->then_block, visit);
      visit_ids(branch->else_block, visit);
    } else if (Define* define = std::get_if<Define>(&stmt.node)) {
      visit(define->value.buffer);
    } else if (BindAll* all = std::get_if<BindAll>(&stmt.node)) {
      for (Bind& bind : all->binds) visit(bind.pointer), visit(bind.target.buffer);
    } else if (Make* make = std::get_if<Make>(&stmt.node)) {
      visit(make->buffer);
      for (BufferId& pointer : make->avoid) visit(pointer);
    } else if (Check* check = std::get_if<Check>(&stmt.node)) {
      if (!check->condition) visit(check->flag.buffer);
    }
  }
}

}  // namespace

void remove_unused_buffers(Loops& loops) {
  const size_t count = loops.buffers.size();
  std::vector<bool> used(count, false);
  for (BufferId b = 0; b < count; ++b) used[b] = loops.buffers[b].place == Place::Argument;
  visit_ids(loops.body, [&](BufferId& id) { used[id] = true; });
  // What a used pointer or alias stands for is used; bases may follow their aliases, so until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (BufferId b = 0; b < count; ++b) {
      if (!used[b]) continue;
      const auto use = [&](BufferId id) { changed = changed || !used[id], used[id] = true; };
      if (loops.buffers[b].place == Place::Alias) use(loops.buffers[b].base);
      for (BufferId target : loops.buffers[b].may_be) use(target);
    }
  }
  std::vector<BufferId> renamed(count, kNone);
  std::vector<Buffer> kept;
  for (BufferId b = 0; b < count; ++b) {
    if (!used[b]) continue;
    renamed[b] = BufferId(kept.size());
    kept.push_back(std::move(loops.buffers[b]));
  }
  for (Buffer& buffer : kept) {
    if (buffer.place == Place::Alias) buffer.base = renamed[buffer.base];
    for (BufferId& target : buffer.may_be) target = renamed[target];
  }
  loops.buffers = std::move(kept);
  visit_ids(loops.body, [&](BufferId& id) { id = renamed[id]; });
  for (Argument& argument : loops.arguments) {
    if (argument.kind == ArgumentKind::Array) argument.buffer = renamed[argument.buffer];
  }
  std::erase_if(loops.distinct, [&](const auto& pair) { return !used[pair.first] || !used[pair.second]; });
  for (auto& [a, b] : loops.distinct) a = renamed[a], b = renamed[b];
}

SymbolId axis_variable(Symbols& symbols, int depth) {
  // '$' keeps the name apart from every name of the user's.
  const std::string name = "$" + std::to_string(depth);
  if (const std::optional<SymbolId> id = symbols.find(name)) return *id;
  return symbols.add(name, SymbolKind::Loop, true);
}

int64_t body_cost(const Nest& nest) {
  int64_t twice = 0;
  for (const Instr& instr : nest.body) {
    if (instr.code == Code::Element) twice += 2 * info(instr.op).cost;
    if (instr.code == Code::Cast) twice += 1;
    if (instr.code == Code::Load || instr.code == Code::Store) twice += 1;
  }
  for (const Reduction& reduction : nest.reductions) twice += 2 * info(info(reduction.op).combine).cost;
  return (twice + 1) / 2;
}

Facts entry_facts(const Loops& loops) {
  Facts facts(&loops.symbols);
  for (const Guard& guard : loops.guards) facts.assume(guard.condition);
  return facts;
}

std::vector<bool> entry_symbols(const Loops& loops) {
  std::vector<bool> known(loops.symbols.size(), false);
  for (const SymbolSource& source : loops.sources) known[source.symbol] = true;
  return known;
}

}  // namespace ferrule::loops
