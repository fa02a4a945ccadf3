#include "schedule/join.h"

#include <algorithm>
#include <set>

#include "loops/nest_builder.h"
#include "loops/walk.h"

namespace ferrule::loops {
namespace {

// How many statements back a partner is looked for, and the longest body that joining makes.
constexpr size_t kReach = 12, kLongestBody = 200;

class Joiner {
 public:
  explicit Joiner(Loops loops) : loops_(std::move(loops)), aliases_(loops_) {}

  Loops run() {
    visit(loops_.body);
    drop_unread();
    remove_unused_buffers(loops_);
    return std::move(loops_);
  }

 private:
  void visit(Block& block) {
    Block kept;
    for (Stmt& stmt : block) {
      for_each_block(stmt, [&](Block& inner) { visit(inner); });
      const Nest* nest = std::get_if<Nest>(&stmt.node);
      if (nest == nullptr || !join_into(kept, *nest)) kept.push_back(std::move(stmt));
    }
    block = std::move(kept);
  }

  // Puts the nest into one of the last statements before it, if it may go there.
  bool join_into(Block& block, const Nest& second) {
    for (size_t back = 1; back <= std::min(block.size(), kReach); ++back) {
      // Past nests alone: a check may guard what the second nest reads.
      Nest* first = std::get_if<Nest>(&block[block.size() - back].node);
      if (first == nullptr) return false;
      if (can_join(*first, second)) {
        *first = joined(*first, second);
        return true;
      }
      if (!independent(*first, second)) return false;
    }
    return false;
  }

  bool conflicts(const Access& a, bool a_written, const Access& b, bool b_written) const {
    return (a_written || b_written) && aliases_.may_alias(a.buffer, b.buffer);
  }

  // Whether the two may trade places.
  bool independent(const Nest& first, const Nest& second) const {
    bool free = true;
    for_each_access(first, [&](const Access& a, bool a_written) {
      for_each_access(second,
                      [&](const Access& b, bool b_written) { free = free && !conflicts(a, a_written, b, b_written); });
    });
    return free;
  }

  bool can_join(const Nest& first, const Nest& second) const {
    if (first.order != Order::Free || second.order != Order::Free) return false;
    if (!first.reductions.empty() || !second.reductions.empty()) return false;
    if (first.axes.size() != second.axes.size() || first.axes.empty()) return false;
    if (first.body.size() + second.body.size() > kLongestBody) return false;
    for (size_t k = 0; k < first.axes.size(); ++k) {
      if (first.axes[k].variable != second.axes[k].variable || !(first.axes[k].extent == second.axes[k].extent))
        return false;
    }
    bool shares = false, fits = true;
    for_each_access(first, [&](const Access& a, bool a_written) {
      for_each_access(second, [&](const Access& b, bool b_written) {
        shares = shares || (a.buffer == b.buffer && !loops_.buffers[a.buffer].shape.empty());
        if (conflicts(a, a_written, b, b_written)) fits = fits && a == b;
      });
    });
    return shares && fits;
  }

  Nest joined(const Nest& first, const Nest& second) {
    NestBuilder body(&aliases_);
    for (const Nest* part : {&first, &second}) {
      std::vector<int> renamed;
      for (const Instr& instr : part->body) {
        const int value = body.copy(instr, renamed, [](SymbolId) { return std::optional<Expr>(); });
        if (instr.dst >= 0) renamed.push_back(value);
      }
    }
    Nest result{.axes = first.axes, .order = Order::Free, .body = body.finish(), .site = first.site};
    remove_unused(result);
    return result;
  }

  void drop_unread() {
    std::vector<bool> read(loops_.buffers.size(), false);
    for_each_access(loops_.body, [&](const Access& access, bool written) {
      if (!written) read[access.buffer] = true;
    });
    for (BufferId b = 0; b < loops_.buffers.size(); ++b) {
      const Buffer& buffer = loops_.buffers[b];
      const bool own = buffer.place == Place::Arena || buffer.place == Place::Local;
      if (!own || buffer.slots > 1) read[b] = true;
    }
    for (BufferId b = 0; b < loops_.buffers.size(); ++b) {
      const Place place = loops_.buffers[b].place;
      if (place != Place::Alias && place != Place::Pointer) continue;
      for (BufferId root : aliases_.roots(b)) read[root] = true;
    }
    drop_stores(loops_.body, read);
  }

  void drop_stores(Block& block, const std::vector<bool>& read) {
    for (Stmt& stmt : block) {
      for_each_block(stmt, [&](Block& inner) { drop_stores(inner, read); });
      Nest* nest = std::get_if<Nest>(&stmt.node);
      if (nest == nullptr || !nest->reductions.empty()) continue;
      const size_t count = nest->body.size();
      std::erase_if(nest->body,
                    [&](const Instr& instr) { return instr.code == Code::Store && !read[instr.access.buffer]; });
      if (nest->body.size() != count) remove_unused(*nest);
    }
    std::erase_if(block, [&](const Stmt& stmt) {
      if (const Make* make = std::get_if<Make>(&stmt.node)) return !read[make->buffer];
      const Nest* nest = std::get_if<Nest>(&stmt.node);
      return nest != nullptr && nest->body.empty() && nest->reductions.empty();
    });
  }

  Loops loops_;
  Aliases aliases_;
};

}  // namespace

Loops join(Loops loops) { return Joiner(std::move(loops)).run(); }

}  // namespace ferrule::loops
