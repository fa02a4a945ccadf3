#include "analyse/analyse.h"

#include <algorithm>
#include <set>

namespace ferrule {
namespace {

// Pointers that take their values at one moment: (Carried buffer, buffer that it then points into).
struct BindEvent {
  std::vector<std::pair<BufferId, BufferId>> binds;
};

struct Walk {
  const Program& program;
  std::vector<BindEvent> events;
  std::vector<int> bound_at;      // Carried: pre-order position of the first bind; -1: never
  std::vector<int> allocated_at;  // Transient: position of its Alloc; -1: none
  int position = 0;

  explicit Walk(const Program& p) : program(p), bound_at(p.buffers.size(), -1), allocated_at(p.buffers.size(), -1) {
    visit(p.body);
  }

  void bind(BindEvent& event, ValueId pointer, ValueId source) {
    const ValueType& type = program.type(pointer);
    if (type.kind != ValueKind::View || program.buffers[type.buffer].storage != Storage::Carried) return;
    const std::pair<BufferId, BufferId> bind{type.buffer, program.type(source).buffer};
    if (std::find(event.binds.begin(), event.binds.end(), bind) == event.binds.end()) event.binds.push_back(bind);
    if (bound_at[type.buffer] < 0) bound_at[type.buffer] = position;
  }

  void visit(const Region& region) {
    for (const Op& op : region.ops) {
      ++position;
      if (op.kind == OpKind::Alloc) allocated_at[op.buffer] = position;
      if (op.kind == OpKind::For || op.kind == OpKind::While) {
        BindEvent initial;
        for (size_t i = 0; i < op.operands.size(); ++i) bind_carried(initial, op, i, op.operands[i]);
        events.push_back(std::move(initial));
      }
      for (const Region& inner : op.regions) visit(inner);
      ++position;
      if (op.kind == OpKind::For || op.kind == OpKind::While) {
        BindEvent next;
        const std::vector<ValueId>& yields = op.regions.back().yields;
        for (size_t i = 0; i < yields.size(); ++i) bind_carried(next, op, i, yields[i]);
        events.push_back(std::move(next));
      } else if (op.kind == OpKind::If) {
        for (const Region& inner : op.regions) {
          BindEvent joined;
          for (size_t i = 0; i < inner.yields.size(); ++i) bind(joined, op.results[i], inner.yields[i]);
          events.push_back(std::move(joined));
        }
      }
    }
  }

  // All pointers of carried value `i` of a loop: its parameters and its result.
  void bind_carried(BindEvent& event, const Op& op, size_t i, ValueId source) {
    for (const Region& inner : op.regions) {
      if (i < inner.params.size()) bind(event, inner.params[i], source);
    }
    if (i < op.results.size()) bind(event, op.results[i], source);
  }
};

BufferId memory_of(const Program& program, BufferId buffer) {
  while (program.buffers[buffer].storage == Storage::Alias) buffer = program.buffers[buffer].base;
  return buffer;
}

bool intersects(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

using Pairs = std::set<std::pair<BufferId, BufferId>>;

std::pair<BufferId, BufferId> ordered(BufferId a, BufferId b) { return {std::min(a, b), std::max(a, b)}; }

// Greatest set of pairs that every bind keeps distinct: assume all, drop what a bind breaks until nothing changes.
Pairs distinct_pairs(const Program& program, const Walk& walk, const ProgramFacts& facts) {
  const BufferId count = BufferId(program.buffers.size());
  Pairs pairs;
  for (BufferId a = 0; a < count; ++a) {
    for (BufferId b = a + 1; b < count; ++b) {
      const Storage first = program.buffers[a].storage, second = program.buffers[b].storage;
      if (first == Storage::Alias || second == Storage::Alias) continue;
      if (first != Storage::Carried && second != Storage::Carried) continue;
      if (intersects(facts.roots[a], facts.roots[b])) pairs.insert({a, b});
    }
  }
  // Memory that avoids a pointer is distinct from it wherever both are in use: the Alloc comes after the bind.
  const auto avoids = [&](BufferId memory, BufferId pointer) {
    const std::vector<BufferId>& avoided = facts.avoid[memory];
    return std::find(avoided.begin(), avoided.end(), pointer) != avoided.end();
  };
  const auto separate = [&](BufferId a, BufferId b) {
    a = memory_of(program, a), b = memory_of(program, b);
    if (a == b) return false;
    return !intersects(facts.roots[a], facts.roots[b]) || pairs.count(ordered(a, b)) > 0;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const BindEvent& event : walk.events) {
      for (const auto& [pointer, source] : event.binds) {
        for (BufferId other = 0; other < count; ++other) {
          const auto pair = ordered(pointer, other);
          if (other == pointer || !pairs.count(pair) || avoids(other, pointer)) continue;
          bool rebound = false, kept = true;
          for (const auto& [other_pointer, other_source] : event.binds) {
            if (other_pointer != other) continue;
            rebound = true;
            kept = kept && separate(source, other_source);
          }
          if (!rebound) kept = separate(source, other);
          if (!kept) pairs.erase(pair), changed = true;
        }
      }
    }
  }
  return pairs;
}

}  // namespace

bool ProgramFacts::may_alias(BufferId a, BufferId b) const {
  if (a == b) return true;
  return intersects(roots[a], roots[b]) && !std::binary_search(distinct.begin(), distinct.end(), ordered(a, b));
}

ProgramFacts analyse(const Program& program) {
  const size_t count = program.buffers.size();
  const Walk walk(program);
  ProgramFacts facts;
  facts.arguments_may_alias = program.arguments_may_alias;
  facts.may_be.resize(count);
  facts.roots.resize(count);
  facts.avoid.resize(count);

  std::vector<std::set<BufferId>> targets(count), roots(count);
  for (const BindEvent& event : walk.events) {
    for (const auto& [pointer, source] : event.binds) targets[pointer].insert(source);
  }
  for (BufferId b = 0; b < count; ++b) {
    const Storage storage = program.buffers[b].storage;
    if (storage != Storage::Carried && storage != Storage::Alias) roots[b].insert(b);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (BufferId b = 0; b < count; ++b) {
      const size_t before = roots[b].size();
      const Buffer& buffer = program.buffers[b];
      if (buffer.storage == Storage::Alias) roots[b].insert(roots[buffer.base].begin(), roots[buffer.base].end());
      for (BufferId target : targets[b]) roots[b].insert(roots[target].begin(), roots[target].end());
      changed = changed || roots[b].size() != before;
    }
  }
  std::vector<BufferId> arguments;
  for (BufferId b = 0; b < count; ++b) {
    if (program.buffers[b].storage == Storage::Argument) arguments.push_back(b);
  }
  for (BufferId b = 0; b < count; ++b) {
    // Arguments that may overlap are one memory.
    if (facts.arguments_may_alias) {
      const bool any =
          std::any_of(arguments.begin(), arguments.end(), [&](BufferId a) { return roots[b].count(a) > 0; });
      if (any) roots[b].insert(arguments.begin(), arguments.end());
    }
    targets[b].erase(b);
    facts.may_be[b].assign(targets[b].begin(), targets[b].end());
    facts.roots[b].assign(roots[b].begin(), roots[b].end());
  }
  for (BufferId b = 0; b < count; ++b) {
    if (walk.allocated_at[b] < 0) continue;
    for (BufferId pointer = 0; pointer < count; ++pointer) {
      const bool before = walk.bound_at[pointer] >= 0 && walk.bound_at[pointer] < walk.allocated_at[b];
      if (before && roots[pointer].count(b) > 0) facts.avoid[b].push_back(pointer);
    }
  }
  const Pairs pairs = distinct_pairs(program, walk, facts);
  facts.distinct.assign(pairs.begin(), pairs.end());
  return facts;
}

}  // namespace ferrule
