#include "schedule/place.h"

#include <algorithm>
#include <climits>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "loops/walk.h"

namespace ferrule::loops {
namespace {

constexpr int64_t kAlignment = 64;
// Largest array on the stack, and most of them together.
constexpr int64_t kStackArray = 4096, kStackTotal = 1 << 16;

// When a buffer is in use: statement positions, with every loop over which its contents live counted whole.
struct Life {
  int first = INT_MAX, last = -1;
  std::vector<int> loops;  // the loops around all of its uses
  bool used = false, pointed = false;
};

class Lives {
 public:
  explicit Lives(const Loops& loops) : aliases_(loops), lives(loops.buffers.size()), enclosing(loops.buffers.size()) {
    visit(loops.body);
    for (BufferId b = 0; b < lives.size(); ++b) finish(b);
  }

 private:
  struct Use {
    int position;
    std::vector<int> path;
  };
  struct Range {
    int first, last;
  };

  void use(BufferId buffer, bool pointed) {
    for (BufferId root : aliases_.roots(buffer)) {
      uses_[root].push_back({position_, path_});
      lives[root].pointed = lives[root].pointed || pointed;
      if (uses_[root].size() == 1) enclosing[root] = fors_;
    }
  }

  void visit(const Block& block) {
    for (const Stmt& stmt : block) {
      ++position_;
      if (const For* loop = std::get_if<For>(&stmt.node)) {
        fors_.push_back(loop);
        within([&] { visit(loop->body); });
        fors_.pop_back();
      } else if (const While* loop = std::get_if<While>(&stmt.node)) {
        within([&] {
          visit(loop->test);
          use(loop->condition.buffer, false);
          visit(loop->body);
        });
      } else if (const If* branch = std::get_if<If>(&stmt.node)) {
        if (!branch->condition) use(branch->flag.buffer, false);
        visit(branch->then_block);
        visit(branch->else_block);
      } else if (const BindAll* all = std::get_if<BindAll>(&stmt.node)) {
        for (const Bind& bind : all->binds) use(bind.target.buffer, true);
      } else if (const Make* make = std::get_if<Make>(&stmt.node)) {
        use(make->buffer, false);
      } else {
        for_each_access(stmt, [&](const Access& access, bool) { use(access.buffer, false); });
      }
    }
  }

  template <class Visit>
  void within(Visit inner) {
    const int id = int(ranges_.size());
    ranges_.push_back({position_, 0});
    path_.push_back(id);
    inner();
    path_.pop_back();
    ranges_[id].last = ++position_;
  }

  void finish(BufferId b) {
    Life& life = lives[b];
    const std::vector<Use>& uses = uses_[b];
    if (uses.empty()) return;
    life.used = true;
    life.loops = uses[0].path;
    for (const Use& use : uses) {
      size_t common = 0;
      while (common < life.loops.size() && common < use.path.size() && life.loops[common] == use.path[common]) ++common;
      life.loops.resize(common);
    }
    for (const Use& use : uses) {
      const bool deeper = use.path.size() > life.loops.size();
      const Range range = deeper ? ranges_[use.path[life.loops.size()]] : Range{use.position, use.position};
      life.first = std::min(life.first, range.first);
      life.last = std::max(life.last, range.last);
    }
    if (life.pointed) life.first = 0, life.last = INT_MAX;
  }

  Aliases aliases_;
  std::map<BufferId, std::vector<Use>> uses_;
  std::vector<Range> ranges_;
  std::vector<int> path_;
  std::vector<const For*> fors_;
  int position_ = 0;

 public:
  std::vector<Life> lives;
  std::vector<std::vector<const For*>> enclosing;  // the For loops around the first use
};

void assume(Facts& facts, const For& loop) {
  const std::optional<int64_t> step = loop.step.constant();
  if (step && *step < 0)
    facts.assume_loop(loop.variable, loop.hi + 1, loop.lo + 1);
  else
    facts.assume_loop(loop.variable, loop.lo, loop.hi);
}

bool known_at_entry(const Expr& expr, const std::vector<bool>& entry) {
  const std::vector<SymbolId> symbols = expr.symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return bool(entry[s]); });
}

// Bytes of a buffer as an expression of entry symbols, rounded up to the alignment; nullopt where only the run knows.
std::optional<Expr> size_at_entry(const Buffer& buffer, const std::vector<const For*>& enclosing, const Facts& base,
                                  const std::vector<bool>& entry) {
  Facts facts = base;
  for (const For* loop : enclosing) assume(facts, *loop);
  Expr bytes = int64_t(item_size(buffer.dtype));
  for (Expr extent : buffer.shape) {
    if (!known_at_entry(extent, entry)) {
      const std::optional<Expr> bound = facts.upper_bound(extent);
      if (!bound || !known_at_entry(*bound, entry)) return std::nullopt;
      extent = *bound;
    }
    if (!base.prove_nonnegative(extent)) extent = max(extent, 0);
    bytes = bytes * extent;
  }
  if (const std::optional<int64_t> count = bytes.constant())
    return Expr((*count + kAlignment - 1) / kAlignment * kAlignment);
  return floordiv(bytes + (kAlignment - 1), kAlignment) * Expr(kAlignment);
}

class Work {
 public:
  Work(const Loops& loops, const std::vector<bool>& entry) : facts_(entry_facts(loops)), entry_(entry) {}

  Expr of(const Block& block) {
    Expr total = 0;
    for (const Stmt& stmt : block) total = total + of(stmt);
    return total;
  }

 private:
  // The expression with what only the run knows bounded, or 1.
  Expr known(const Expr& expr) const {
    if (known_at_entry(expr, entry_)) return expr;
    const std::optional<Expr> bound = facts_.upper_bound(expr);
    return bound && known_at_entry(*bound, entry_) ? *bound : Expr(1);
  }

  Expr of(const Stmt& stmt) {
    if (const Nest* nest = std::get_if<Nest>(&stmt.node)) {
      Expr total = std::max<int64_t>(body_cost(*nest), 1);
      for (const Axis& axis : nest->axes) total = total * known(axis.extent);
      return total;
    }
    if (const For* loop = std::get_if<For>(&stmt.node)) {
      const std::optional<int64_t> step = loop->step.constant();
      Expr trips = 1;
      if (step && *step > 0) trips = floordiv(loop->hi - loop->lo + (*step - 1), *step);
      if (step && *step < 0) trips = floordiv(loop->lo - loop->hi - (*step + 1), -*step);
      trips = known(trips);
      facts_.push();
      assume(facts_, *loop);
      const Expr inner = of(loop->body);
      facts_.pop();
      return trips * inner;
    }
    if (const While* loop = std::get_if<While>(&stmt.node)) return of(loop->test) + of(loop->body);
    if (const If* branch = std::get_if<If>(&stmt.node)) return of(branch->then_block) + of(branch->else_block);
    return 1;
  }

  Facts facts_;
  const std::vector<bool>& entry_;
};

// Places of one size in the arena, asked for in the order in which lives begin.
class Slots {
 public:
  // The first place made that is free from `first` on, busy until `last` from now.
  std::optional<Expr> take(int first, int last) {
    while (!busy_.empty() && busy_.top().first < first) {
      free_.insert(busy_.top().second);
      busy_.pop();
    }
    if (free_.empty()) return std::nullopt;
    const size_t slot = *free_.begin();
    free_.erase(free_.begin());
    busy_.push({last, slot});
    return offsets_[slot];
  }
  void add(const Expr& offset, int last) {
    busy_.push({last, offsets_.size()});
    offsets_.push_back(offset);
  }

 private:
  using Busy = std::pair<int, size_t>;  // until when, which
  std::vector<Expr> offsets_;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::set<size_t> free_;
};

void remove_makes(const Loops& loops, Block& block) {
  std::erase_if(block, [&](const Stmt& stmt) {
    const Make* make = std::get_if<Make>(&stmt.node);
    if (make == nullptr) return false;
    const Buffer& buffer = loops.buffers[make->buffer];
    return buffer.slots == 1 && buffer.place != Place::Dynamic && buffer.place != Place::Scratch;
  });
  for (Stmt& stmt : block) for_each_block(stmt, [&](Block& inner) { remove_makes(loops, inner); });
}

}  // namespace

Loops place(Loops loops) {
  const Lives lives(loops);
  const std::vector<bool> entry = entry_symbols(loops);
  const Facts facts = entry_facts(loops);

  std::vector<BufferId> order;
  for (BufferId b = 0; b < loops.buffers.size(); ++b) {
    if (loops.buffers[b].place == Place::Arena && lives.lives[b].used) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return lives.lives[a].first < lives.lives[b].first; });

  std::unordered_map<Expr, Slots> slots;  // by size
  Expr total = 0;
  int64_t stack = 0;
  for (BufferId b : order) {
    Buffer& buffer = loops.buffers[b];
    const Life& life = lives.lives[b];
    const std::optional<Expr> one = size_at_entry(buffer, lives.enclosing[b], facts, entry);
    if (!one) {
      buffer.place = Place::Scratch;
      continue;
    }
    const std::optional<int64_t> constant = one->constant();
    if (constant && buffer.slots == 1 && !life.pointed && *constant <= kStackArray &&
        stack + *constant <= kStackTotal) {
      buffer.place = Place::Local;
      if (!buffer.shape.empty()) stack += *constant;
      continue;
    }
    const Expr bytes = *one * Expr(int64_t(buffer.slots));
    Slots& equal = slots[bytes];
    if (const std::optional<Expr> offset = equal.take(life.first, life.last)) {
      buffer.offset = *offset;
    } else {
      buffer.offset = total;
      equal.add(total, life.last);
      total = total + bytes;
    }
    buffer.slot_bytes = *one;
  }
  loops.arena_bytes = total;
  remove_makes(loops, loops.body);
  loops.work = Work(loops, entry).of(loops.body);
  return loops;
}

}  // namespace ferrule::loops
