#include "schedule/inline.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "loops/walk.h"
#include "schedule/changes.h"
#include "schedule/growth.h"

namespace ferrule::loops {
namespace {

// What an element stored and read back costs, in the units of ops.def: repeated work up to it is worth the memory
// traffic. Measured on a limited diffusion (2026-11): its Laplacian, of cost 8 and read at five maps, is faster
// recomputed.
constexpr int64_t kTrafficCost = 40;
// Most that may be repeated along one way through producers that are each worth it: a running value of which each step
// is also stored would otherwise be computed from the start for every store.
constexpr int64_t kRepeatedCost = 2 * kTrafficCost;
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
  const Nest* nest = nullptr;
};

class Inliner {
 public:
  explicit Inliner(Loops loops)
      : loops_(std::move(loops)), aliases_(loops_), facts_(entry_facts(loops_)), changes_(loops_, aliases_) {}

  Loops run() {
    find_temporaries();
    count_uses();
    Path path;
    collect(loops_.body, path, nullptr);
    process(loops_.body, path, nullptr);
    std::set<BufferId> used;
    for_each_access(loops_.body, [&](const Access& access, bool) { used.insert(access.buffer); });
    sweep(loops_.body, used);
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
        if (made != kNone) producers_[made] = {path, number_, nest};
      }
      for_each_block(block[at], [&](Block& inner) { collect(inner, path, &block[at]); });
      path.pop_back();
    }
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
          for_each_block(stmt, [&](Block& inner) { process(inner, path, &stmt); });
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
    Growth growth(nest, aliases_, facts_);
    std::set<std::pair<int, BufferId>> waiting;  // the latest producer is the next
    std::unordered_set<BufferId> refused;
    const auto offer = [&](BufferId buffer) {
      const auto found = producers_.find(buffer);
      if (found != producers_.end() && !refused.count(buffer)) waiting.insert({found->second.number, buffer});
    };
    for (BufferId buffer : growth.loaded()) offer(buffer);
    std::vector<Nest*> emptied;
    while (!waiting.empty()) {
      const BufferId latest = std::prev(waiting.end())->second;
      waiting.erase(std::prev(waiting.end()));
      const Producer& producer = producers_.at(latest);
      std::optional<std::vector<BufferId>> added;
      const int64_t read_at = int64_t(growth.loads(latest).size());
      if (is_worth_it(nest, growth, producer, latest, path) && is_unchanged(*producer.nest, producer.path, path))
        added = growth.take(latest, *producer.nest, repeated(growth, producer, latest));
      if (!added) {
        refused.insert(latest);
        continue;
      }
      uses_[latest] -= read_at;
      for (BufferId buffer : *added) ++uses_[buffer];
      if (uses_[latest] == 0) emptied.push_back(forget(latest));
      for (BufferId buffer : *added) offer(buffer);
    }
    if (growth.took_any()) nest = growth.finish();
    for (Nest* unread : emptied) *unread = Nest{};
  }

  // Takes a producer that nothing reads any more out of the books.
  Nest* forget(BufferId buffer) {
    const auto found = producers_.find(buffer);
    Position& at = found->second.path.back();
    Nest* nest = std::get_if<Nest>(&at.block->at(at.at).node);
    count_uses(at.block->at(at.at), -1);
    producers_.erase(found);
    return nest;
  }

  static int64_t arithmetic(const Nest& nest) {
    int64_t cost = 0;
    for (const Instr& instr : nest.body) {
      if (instr.code == Code::Element) cost += info(instr.op).cost;
    }
    return cost;
  }

  // uses_: distinct index maps at which statements read each buffer, over the whole program.
  void count_uses() {
    uses_.assign(loops_.buffers.size(), 0);
    for_each_stmt(loops_.body, [&](const Stmt& stmt) { count_uses(stmt, 1); });
  }

  // Counts what the statement itself reads, without the blocks in it.
  void count_uses(const Stmt& stmt, int change) {
    std::unordered_set<Access, AccessHash> seen;
    const auto visit = [&](const Access& access, bool written) {
      if (!written && access.buffer != kNone && seen.insert(access).second) uses_[access.buffer] += change;
    };
    if (const Nest* nest = std::get_if<Nest>(&stmt.node)) for_each_access(*nest, visit);
    if (const While* loop = std::get_if<While>(&stmt.node)) visit(loop->condition, false);
    if (const If* branch = std::get_if<If>(&stmt.node)) visit(branch->flag, false);
    if (const Define* define = std::get_if<Define>(&stmt.node)) visit(define->value, false);
    if (const Check* check = std::get_if<Check>(&stmt.node)) visit(check->flag, false);
  }

  static bool reads_memory(const Loops& loops, const Nest& nest) {
    return std::any_of(nest.body.begin(), nest.body.end(), [&](const Instr& instr) {
      return instr.code == Code::Load && !loops.buffers[instr.access.buffer].shape.empty();
    });
  }

  // The arithmetic that putting the producer in repeats, together with what is repeated on the way to it.
  int64_t repeated(const Growth& growth, const Producer& producer, BufferId buffer) const {
    const int64_t here = arithmetic(*producer.nest) == 0 ? 0 : (uses_[buffer] - 1) * body_cost(*producer.nest);
    return growth.repeated(buffer) + here;
  }

  bool is_worth_it(const Nest& consumer, const Growth& growth, const Producer& producer, BufferId buffer,
                   const Path& path) {
    const int64_t work = arithmetic(*producer.nest), uses = uses_[buffer];
    const Path& from = producer.path;
    // Into a loop only what costs nothing there.
    bool deeper = false;
    for (size_t level = from.size(); level < path.size(); ++level)
      deeper = deeper || !std::holds_alternative<If>(path[level].owner->node);
    const bool scalar = loops_.buffers[buffer].shape.empty();
    if (scalar) {
      if (deeper || !consumer.axes.empty()) return work == 0 && !reads_memory(loops_, *producer.nest);
      return uses == 1 || work == 0;
    }
    if (deeper && work > 0) return false;
    // An axis along which the value repeats costs nothing only inside those it varies along, where it is hoisted.
    std::vector<bool> varies(consumer.axes.size(), false);
    for (const Access& load : growth.loads(buffer)) {
      for (size_t axis = 0; axis < consumer.axes.size(); ++axis) {
        for (const Expr& index : load.index) varies[axis] = varies[axis] || index.uses(consumer.axes[axis].variable);
      }
    }
    const bool everywhere = std::all_of(varies.begin(), varies.end(), [](bool v) { return v; });
    const bool outermost = std::is_sorted(varies.begin(), varies.end(), std::greater<>());
    if (!everywhere && work > 0 && (!outermost || !consumer.reductions.empty())) return false;
    if (work > 0 && (uses - 1) * body_cost(*producer.nest) > kTrafficCost) return false;
    // What stays in memory for one consumer is read by the others too, or each would repeat what led to it.
    if (work > 0 && stays_.count(buffer)) return false;
    if (growth.size() + producer.nest->body.size() <= kLongestBody &&
        repeated(growth, producer, buffer) <= kRepeatedCost)
      return true;
    stays_.insert(buffer);
    return false;
  }

  // Whether nothing that the producer reads can change between it and the consumer.
  bool is_unchanged(const Nest& producer, const Path& from, const Path& to) const {
    // The consumer stands in the producer's block, or in a block within it.
    const size_t depth = from.size();
    if (to.size() < depth || to[depth - 1].block != from[depth - 1].block) return false;
    // What reads before the producer writes sees what memory held: of the last iteration of a loop, or undefined.
    if (to[depth - 1].at <= from[depth - 1].at) return false;
    // Whether the statements [first, last) of a block keep what the producer reads.
    const auto keep = [&](const Block& block, size_t first, size_t last) {
      if (first >= last) return true;
      return !changes_.may_change({changes_.span(block[first]).first, changes_.span(block[last - 1]).last}, producer);
    };
    if (!keep(*from[depth - 1].block, from[depth - 1].at + 1, to[depth - 1].at)) return false;
    for (size_t level = depth; level < to.size(); ++level) {
      const Stmt& owner = *to[level].owner;
      // Of a loop the whole: what follows the consumer comes before it in the next iteration.
      if (!std::holds_alternative<If>(owner.node)) return !changes_.may_change(changes_.span(owner), producer);
      if (!keep(*to[level].block, 0, to[level].at)) return false;
    }
    return true;
  }

  // Statements without effect: emptied nests, memory made for nothing.
  void sweep(Block& block, const std::set<BufferId>& used) {
    for (Stmt& stmt : block) {
      for_each_block(stmt, [&](Block& inner) { sweep(inner, used); });
    }
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
  Changes changes_;
  std::vector<bool> temporary_;
  std::vector<int64_t> uses_;
  std::unordered_set<BufferId> stays_;
  std::map<BufferId, Producer> producers_;
  int number_ = 0;
};

}  // namespace

Loops inline_producers(Loops loops) { return Inliner(std::move(loops)).run(); }

}  // namespace ferrule::loops
