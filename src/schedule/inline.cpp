#include "schedule/inline.h"

#include <algorithm>
#include <map>
#include <set>

#include "loops/nest_builder.h"
#include "loops/walk.h"
#include "schedule/dependence.h"

namespace ferrule::loops {
namespace {

// What an element stored and read back costs, in the units of ops.def: repeated work up to it is worth the memory
// traffic. Measured on a limited diffusion (2026-11): its Laplacian, of cost 8 and read at five maps, is faster
// recomputed.
constexpr int64_t kTrafficCost = 40;
// Longest body that inlining builds; beyond it GCC's register allocation and compile time suffer.
constexpr size_t kLongestBody = 600;

// Where a statement stands: its block, its position, and the statements around it.
struct Position {
  Block* block;
  size_t at;
  const Stmt* owner;  // the statement that holds `block`; null at the top
};
using Path = std::vector<Position>;

struct Producer {
  Path path;
  int number = 0;  // in program order
};

class Inliner {
 public:
  explicit Inliner(Loops loops) : loops_(std::move(loops)), aliases_(loops_), facts_(entry_facts(loops_)) {}

  Loops run() {
    find_temporaries();
    Path path;
    number_ = 0;
    collect(loops_.body, path, nullptr);
    path.clear();
    process(loops_.body, path, nullptr);
    sweep(loops_.body);
    remove_unused_buffers(loops_);
    return std::move(loops_);
  }

 private:
  // Buffers that one nest writes and no pointer or other view reaches.
  void find_temporaries() {
    temporary_.assign(loops_.buffers.size(), true);
    for (BufferId b = 0; b < loops_.buffers.size(); ++b) {
      const Buffer& buffer = loops_.buffers[b];
      const bool own = (buffer.place == Place::Arena || buffer.place == Place::Local) && buffer.slots == 1;
      temporary_[b] = temporary_[b] && own;
      if (buffer.place == Place::Alias || buffer.place == Place::Pointer) {
        for (BufferId root : aliases_.roots(b)) temporary_[root] = false;
      }
    }
    std::vector<int> writes(loops_.buffers.size(), 0);
    for_each_access(loops_.body, [&](const Access& access, bool written) { writes[access.buffer] += written ? 1 : 0; });
    for (BufferId b = 0; b < loops_.buffers.size(); ++b) temporary_[b] = temporary_[b] && writes[b] == 1;
  }

  // The temporary that the nest makes, if it is one that can be put into consumers.
  BufferId made_by(const Nest& nest) const {
    if (nest.order != Order::Free || !nest.reductions.empty()) return kNone;
    const Instr* store = nullptr;
    for (const Instr& instr : nest.body) {
      if (instr.code != Code::Store) continue;
      if (store != nullptr) return kNone;
      store = &instr;
    }
    if (store == nullptr || !temporary_[store->access.buffer]) return kNone;
    const Buffer& buffer = loops_.buffers[store->access.buffer];
    size_t next = 0;
    for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
      const Expr& index = store->access.index[axis];
      if (buffer.shape[axis].is_constant(1) && index.is_constant(0)) continue;
      if (next >= nest.axes.size() || !(index == Expr::symbol(nest.axes[next].variable))) return kNone;
      if (!(nest.axes[next].extent == buffer.shape[axis])) return kNone;
      ++next;
    }
    return next == nest.axes.size() ? store->access.buffer : kNone;
  }

  void collect(Block& block, Path& path, const Stmt* owner) {
    for (size_t at = 0; at < block.size(); ++at) {
      path.push_back({&block, at, owner});
      ++number_;
      if (const Nest* nest = std::get_if<Nest>(&block[at].node)) {
        const BufferId made = made_by(*nest);
        if (made != kNone) producers_[made] = {path, number_};
      }
      visit_blocks(block[at], [&](Block& inner) { collect(inner, path, &block[at]); });
      path.pop_back();
    }
  }

  template <class Visit>
  static void visit_blocks(Stmt& stmt, Visit visit) {
    if (For* loop = std::get_if<For>(&stmt.node)) visit(loop->body);
    if (While* loop = std::get_if<While>(&stmt.node)) visit(loop->test), visit(loop->body);
    if (If* branch = std::get_if<If>(&stmt.node)) visit(branch->then_block), visit(branch->else_block);
  }

  // Consumers from the last to the first, so that a producer meets all that was already merged.
  void process(Block& block, Path& path, const Stmt* owner) {
    for (size_t at = block.size(); at-- > 0;) {
      path.push_back({&block, at, owner});
      Stmt& stmt = block[at];
      if (Nest* nest = std::get_if<Nest>(&stmt.node)) {
        pull_producers(*nest, path);
      } else {
        facts_.push();
        if (const For* loop = std::get_if<For>(&stmt.node)) assume(*loop);
        if (While* loop = std::get_if<While>(&stmt.node)) {
          process(loop->body, path, &stmt);
          process(loop->test, path, &stmt);
        } else if (If* branch = std::get_if<If>(&stmt.node)) {
          for (Block* side : {&branch->else_block, &branch->then_block}) {
            facts_.push();
            if (branch->condition) {
              facts_.assume(side == &branch->then_block ? *branch->condition : negate(*branch->condition));
            }
            process(*side, path, &stmt);
            facts_.pop();
          }
        } else {
          visit_blocks(stmt, [&](Block& inner) { process(inner, path, &stmt); });
        }
        facts_.pop();
      }
      path.pop_back();
    }
  }

  void assume(const For& loop) {
    const std::optional<int64_t> step = loop.step.constant();
    if (step && *step < 0)
      facts_.assume_loop(loop.variable, loop.hi + 1, loop.lo + 1);
    else
      facts_.assume_loop(loop.variable, loop.lo, loop.hi);
  }

  void pull_producers(Nest& nest, const Path& path) {
    std::set<BufferId> refused;
    for (;;) {
      BufferId latest = kNone;
      for (const Instr& instr : nest.body) {
        if (instr.code != Code::Load || refused.count(instr.access.buffer)) continue;
        const auto found = producers_.find(instr.access.buffer);
        if (found == producers_.end()) continue;
        if (latest == kNone || found->second.number > producers_[latest].number) latest = instr.access.buffer;
      }
      if (latest == kNone) return;
      const Producer& producer = producers_[latest];
      const Nest made = std::get<Nest>(producer.path.back().block->at(producer.path.back().at).node);
      std::optional<Nest> merged;
      if (is_worth_it(nest, made, latest, path) && is_unchanged(made, producer.path, path))
        merged = merge(nest, made, latest);
      if (!merged) {
        refused.insert(latest);
        continue;
      }
      nest = std::move(*merged);
      remove_if_unread(latest);
    }
  }

  static int64_t arithmetic(const Nest& nest) {
    int64_t cost = 0;
    for (const Instr& instr : nest.body) {
      if (instr.code == Code::Element) cost += info(instr.op).cost;
    }
    return cost;
  }

  // Distinct index maps at which statements read the buffer, over the whole program.
  int64_t count_uses(BufferId buffer) const {
    int64_t uses = 0;
    for_each_stmt(loops_.body, [&](const Stmt& stmt) {
      std::vector<const Access*> seen;
      const auto visit = [&](const Access& access, bool written) {
        if (written || access.buffer != buffer) return;
        for (const Access* other : seen) {
          if (*other == access) return;
        }
        seen.push_back(&access);
        ++uses;
      };
      if (const Nest* nest = std::get_if<Nest>(&stmt.node)) for_each_access(*nest, visit);
      if (const While* loop = std::get_if<While>(&stmt.node)) visit(loop->condition, false);
      if (const If* branch = std::get_if<If>(&stmt.node)) visit(branch->flag, false);
      if (const Define* define = std::get_if<Define>(&stmt.node)) visit(define->value, false);
      if (const Check* check = std::get_if<Check>(&stmt.node)) visit(check->flag, false);
    });
    return uses;
  }

  static bool reads_memory(const Loops& loops, const Nest& nest) {
    return std::any_of(nest.body.begin(), nest.body.end(), [&](const Instr& instr) {
      return instr.code == Code::Load && !loops.buffers[instr.access.buffer].shape.empty();
    });
  }

  bool is_worth_it(const Nest& consumer, const Nest& producer, BufferId buffer, const Path& path) const {
    const int64_t work = arithmetic(producer), uses = count_uses(buffer);
    const Path& from = producers_.at(buffer).path;
    // Into a loop only what costs nothing there.
    bool deeper = false;
    for (size_t level = from.size(); level < path.size(); ++level)
      deeper = deeper || !std::holds_alternative<If>(path[level].owner->node);
    const bool scalar = loops_.buffers[buffer].shape.empty();
    if (scalar) {
      if (deeper || !consumer.axes.empty()) return work == 0 && !reads_memory(loops_, producer);
      return uses == 1 || work == 0;
    }
    if (deeper && work > 0) return false;
    if (consumer.body.size() + producer.body.size() > kLongestBody) return false;
    // An axis along which the value repeats costs nothing only inside those it varies along, where it is hoisted.
    std::vector<bool> varies(consumer.axes.size(), false);
    for (const Instr& instr : consumer.body) {
      if (instr.code != Code::Load || instr.access.buffer != buffer) continue;
      for (size_t axis = 0; axis < consumer.axes.size(); ++axis) {
        for (const Expr& index : instr.access.index)
          varies[axis] = varies[axis] || index.uses(consumer.axes[axis].variable);
      }
    }
    const bool everywhere = std::all_of(varies.begin(), varies.end(), [](bool v) { return v; });
    const bool outermost = std::is_sorted(varies.begin(), varies.end(), std::greater<>());
    if (!everywhere && work > 0 && (!outermost || !consumer.reductions.empty())) return false;
    return (uses - 1) * body_cost(producer) <= kTrafficCost || work == 0;
  }

  // Whether nothing that the producer reads can change between it and the consumer.
  bool is_unchanged(const Nest& producer, const Path& from, const Path& to) const {
    // The consumer stands in the producer's block, or in a block within it.
    const size_t depth = from.size();
    if (to.size() < depth || to[depth - 1].block != from[depth - 1].block) return false;
    std::vector<BufferId> reads;
    for_each_access(producer, [&](const Access& access, bool written) {
      if (!written) reads.push_back(access.buffer);
    });
    const std::vector<SymbolId> symbols = free_symbols(producer);
    const auto keeps = [&](const Stmt& stmt) { return !changes(stmt, reads, symbols); };
    const Block& block = *from[depth - 1].block;
    for (size_t at = from[depth - 1].at + 1; at < to[depth - 1].at; ++at) {
      if (!keeps(block[at])) return false;
    }
    for (size_t level = depth; level < to.size(); ++level) {
      const bool loop = !std::holds_alternative<If>(to[level].owner->node);
      if (loop) {
        if (!keeps(*to[level].owner)) return false;
        return true;  // the whole loop was looked at
      }
      for (size_t at = 0; at < to[level].at; ++at) {
        if (!keeps((*to[level].block)[at])) return false;
      }
    }
    return true;
  }

  bool changes(const Stmt& stmt, const std::vector<BufferId>& reads, const std::vector<SymbolId>& symbols) const {
    bool changed = false;
    const auto touches = [&](BufferId written) {
      for (BufferId read : reads) changed = changed || aliases_.may_alias(read, written);
    };
    for_each_access(stmt, [&](const Access& access, bool written) {
      if (written) touches(access.buffer);
    });
    Block one{stmt};
    for_each_stmt(one, [&](const Stmt& s) {
      if (const BindAll* all = std::get_if<BindAll>(&s.node)) {
        for (const Bind& bind : all->binds)
          changed = changed || std::count(reads.begin(), reads.end(), bind.pointer) > 0;
      }
      if (const Make* make = std::get_if<Make>(&s.node)) touches(make->buffer);
      if (const Define* define = std::get_if<Define>(&s.node)) {
        changed = changed || std::count(symbols.begin(), symbols.end(), define->symbol) > 0;
      }
    });
    return changed;
  }

  std::optional<Nest> merge(const Nest& consumer, const Nest& producer, BufferId buffer) {
    NestBuilder body(&aliases_);
    std::vector<int> renamed;
    const auto keep = [](SymbolId) { return std::optional<Expr>(); };
    for (const Instr& instr : consumer.body) {
      if (instr.code != Code::Load || instr.access.buffer != buffer) {
        const int value = body.copy(instr, renamed, keep);
        if (instr.dst >= 0) renamed.push_back(value);
        continue;
      }
      // The producer's axes take the values of the consumer's indices.
      std::map<SymbolId, Expr> values;
      int result = -1;
      for (const Instr& made : producer.body) {
        if (made.code != Code::Store) continue;
        for (size_t axis = 0; axis < made.access.index.size(); ++axis) {
          if (const std::optional<SymbolId> variable = made.access.index[axis].as_symbol()) {
            values.insert({*variable, instr.access.index[axis]});
          }
        }
      }
      const auto replace = [&](SymbolId id) {
        const auto found = values.find(id);
        return found == values.end() ? std::optional<Expr>() : std::optional<Expr>(found->second);
      };
      std::vector<int> inner;
      for (const Instr& made : producer.body) {
        if (made.code == Code::Store)
          result = inner[made.src[0]];
        else
          inner.push_back(body.copy(made, inner, replace));
      }
      renamed.push_back(result);
    }
    Nest merged{.axes = consumer.axes,
                .order = consumer.order,
                .body = body.finish(),
                .reductions = consumer.reductions,
                .site = consumer.site};
    for (Reduction& reduction : merged.reductions) reduction.value = renamed[reduction.value];
    remove_unused(merged);
    if (!merged.reductions.empty()) return merged;
    // The consumer's own order was chosen from its loads so far; all of them count again.
    for (Axis& axis : merged.axes) axis.descending = false;
    return ordered_for_old_values(std::move(merged), aliases_, facts_);
  }

  void remove_if_unread(BufferId buffer) {
    if (count_uses(buffer) > 0) return;
    const Path& path = producers_[buffer].path;
    Nest& nest = std::get<Nest>(path.back().block->at(path.back().at).node);
    nest = Nest{};
    producers_.erase(buffer);
  }

  // Statements without effect: emptied nests, memory made for nothing.
  void sweep(Block& block) {
    for (Stmt& stmt : block) {
      visit_blocks(stmt, [&](Block& inner) { sweep(inner); });
    }
    std::set<BufferId> used;
    for_each_access(loops_.body, [&](const Access& access, bool) { used.insert(access.buffer); });
    std::erase_if(block, [&](const Stmt& stmt) {
      if (const Nest* nest = std::get_if<Nest>(&stmt.node)) return nest->body.empty() && nest->reductions.empty();
      if (const Make* make = std::get_if<Make>(&stmt.node)) {
        return temporary_[make->buffer] && used.count(make->buffer) == 0;
      }
      return false;
    });
  }

  Loops loops_;
  Aliases aliases_;
  Facts facts_;
  std::vector<bool> temporary_;
  std::map<BufferId, Producer> producers_;
  int number_ = 0;
};

}  // namespace

Loops inline_producers(Loops loops) { return Inliner(std::move(loops)).run(); }

}  // namespace ferrule::loops
