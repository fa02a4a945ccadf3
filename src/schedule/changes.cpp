#include "schedule/changes.h"

#include <algorithm>

namespace ferrule::loops {
namespace {

bool any_within(const std::vector<int>& numbers, Changes::Span span) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), span.first);
  return at != numbers.end() && *at <= span.last;
}

template <class Key>
bool any_within(const std::unordered_map<Key, std::vector<int>>& numbers, Key key, Changes::Span span) {
  const auto found = numbers.find(key);
  return found != numbers.end() && any_within(found->second, span);
}

}  // namespace

Changes::Changes(const Loops& loops, const Aliases& aliases) : aliases_(aliases), writes_(loops.buffers.size()) {
  visit(loops.body);
}

void Changes::wrote(int number, BufferId buffer) {
  for (BufferId root : aliases_.roots(buffer)) writes_[root].push_back({number, buffer});
}

void Changes::visit(const Block& block) {
  for (const Stmt& stmt : block) {
    const int number = next_++;
    if (const Nest* nest = std::get_if<Nest>(&stmt.node)) {
      for_each_access(*nest, [&](const Access& access, bool written) {
        if (written) wrote(number, access.buffer);
      });
    } else if (const Make* make = std::get_if<Make>(&stmt.node)) {
      wrote(number, make->buffer);
    } else if (const BindAll* all = std::get_if<BindAll>(&stmt.node)) {
      for (const Bind& bind : all->binds) binds_[bind.pointer].push_back(number);
    } else if (const Define* define = std::get_if<Define>(&stmt.node)) {
      defines_[define->symbol].push_back(number);
    } else if (const For* loop = std::get_if<For>(&stmt.node)) {
      visit(loop->body);
    } else if (const While* repeat = std::get_if<While>(&stmt.node)) {
      visit(repeat->test);
      visit(repeat->body);
    } else if (const If* branch = std::get_if<If>(&stmt.node)) {
      visit(branch->then_block);
      visit(branch->else_block);
    }
    spans_[&stmt] = {number, next_ - 1};
  }
}

bool Changes::may_change(Span span, const Nest& nest) const {
  if (span.first > span.last) return false;
  bool changed = false;
  for_each_access(nest, [&](const Access& access, bool written) {
    if (written || changed) return;
    changed = any_within(binds_, access.buffer, span);
    for (BufferId root : aliases_.roots(access.buffer)) {
      const std::vector<Write>& writes = writes_[root];
      auto at = std::lower_bound(writes.begin(), writes.end(), span.first,
                                 [](const Write& write, int number) { return write.number < number; });
      for (; !changed && at != writes.end() && at->number <= span.last; ++at)
        changed = aliases_.may_alias(access.buffer, at->buffer);
    }
  });
  if (changed || defines_.empty()) return changed;
  for (SymbolId symbol : free_symbols(nest)) changed = changed || any_within(defines_, symbol, span);
  return changed;
}

}  // namespace ferrule::loops
