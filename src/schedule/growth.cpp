#include "schedule/growth.h"

#include <algorithm>
#include <map>

namespace ferrule::loops {
namespace {

const Instr& store_of(const Nest& producer) {
  return *std::find_if(producer.body.begin(), producer.body.end(),
                       [](const Instr& instr) { return instr.code == Code::Store; });
}

// The producer's axes take the values of the consumer's indices.
std::map<SymbolId, Expr> axis_values(const Nest& producer, const Access& load) {
  std::map<SymbolId, Expr> values;
  const Access& stored = store_of(producer).access;
  for (size_t axis = 0; axis < stored.index.size(); ++axis) {
    if (const std::optional<SymbolId> variable = stored.index[axis].as_symbol())
      values.insert({*variable, load.index[axis]});
  }
  return values;
}

std::optional<Expr> look_up(const std::map<SymbolId, Expr>& values, SymbolId id) {
  const auto found = values.find(id);
  return found == values.end() ? std::nullopt : std::optional<Expr>(found->second);
}

}  // namespace

Growth::Growth(const Nest& consumer, const Aliases& aliases, Facts& facts)
    : consumer_(consumer), aliases_(aliases), order_(consumer, aliases, facts) {
  count_others(consumer);
  std::vector<Access> loads;
  for (const Instr& instr : consumer.body) {
    if (instr.code == Code::Load && add_load(instr.access)) loads.push_back(instr.access);
  }
  // A reduction writes after all loads.
  ordered_ = !consumer.reductions.empty() || order_.accept(loads);
}

const std::vector<Access>& Growth::loads(BufferId buffer) const {
  static const std::vector<Access> none;
  const auto found = loads_.find(buffer);
  return found == loads_.end() ? none : found->second;
}

std::vector<BufferId> Growth::loaded() const {
  std::vector<BufferId> result;
  result.reserve(all_loads_.size());
  for (const Access& access : all_loads_) result.push_back(access.buffer);
  return result;
}

int64_t Growth::repeated(BufferId buffer) const {
  const auto found = repeated_.find(buffer);
  return found == repeated_.end() ? 0 : found->second;
}

bool Growth::add_load(const Access& access) {
  if (!all_loads_.insert(access).second) return false;
  loads_[access.buffer].push_back(access);
  ++size_;
  return true;
}

void Growth::count_others(const Nest& nest) {
  for (const Instr& instr : nest.body) {
    if (instr.code == Code::Load || instr.code == Code::Store) continue;
    if (instr.code != Code::Constant || constants_.insert({instr.dtype, instr.bits}).second) ++size_;
  }
}

std::optional<std::vector<BufferId>> Growth::take(BufferId buffer, const Nest& producer, int64_t repeated) {
  if (!ordered_) return std::nullopt;
  const std::vector<Access> replaced = loads(buffer);
  std::vector<Access> added;
  std::unordered_set<Access, AccessHash> seen;
  for (const Access& load : replaced) {
    const std::map<SymbolId, Expr> values = axis_values(producer, load);
    for (const Instr& instr : producer.body) {
      if (instr.code != Code::Load) continue;
      Access access = substitute(instr.access, [&](SymbolId id) { return look_up(values, id); });
      if (!all_loads_.count(access) && seen.insert(access).second) added.push_back(std::move(access));
    }
  }
  if (consumer_.reductions.empty() && !order_.accept(added)) return std::nullopt;

  for (const Access& load : replaced) {
    all_loads_.erase(load);
    inlined_.insert({load, &producer});
    count_others(producer);
  }
  // A producer that only moves elements counts too: building follows one load into the next.
  const bool moves = std::none_of(producer.body.begin(), producer.body.end(),
                                  [](const Instr& instr) { return instr.code == Code::Element; });
  if (!moves) size_ -= replaced.size();
  loads_.erase(buffer);
  for (const Instr& instr : producer.body) {
    if (instr.code != Code::Load) continue;
    int64_t& known = repeated_[instr.access.buffer];
    known = std::max(known, repeated);
  }
  std::vector<BufferId> buffers;
  buffers.reserve(added.size());
  for (const Access& access : added) {
    add_load(access);
    buffers.push_back(access.buffer);
  }
  return buffers;
}

int Growth::copy(NestBuilder& body, const Instr& instr, const std::vector<int>& renamed, const Replace& replace) {
  if (instr.code == Code::Store) values_.clear();
  if (instr.code != Code::Load) return body.copy(instr, renamed, replace);
  Access access = substitute(instr.access, replace);
  const auto inlined = inlined_.find(access);
  if (inlined == inlined_.end()) return body.load(std::move(access), instr.dtype);
  const auto known = values_.find(access);
  if (known != values_.end()) return known->second;
  const int value = expand(body, access, *inlined->second);
  values_.insert({std::move(access), value});
  return value;
}

int Growth::expand(NestBuilder& body, const Access& load, const Nest& producer) {
  const std::map<SymbolId, Expr> values = axis_values(producer, load);
  const Replace replace = [&](SymbolId id) { return look_up(values, id); };
  std::vector<int> renamed;
  for (const Instr& instr : producer.body) {
    if (instr.code == Code::Store) return renamed[instr.src[0]];
    renamed.push_back(copy(body, instr, renamed, replace));
  }
  return renamed.back();
}

Nest Growth::finish() {
  NestBuilder body(&aliases_);
  std::vector<int> renamed;
  const Replace keep = [](SymbolId) { return std::optional<Expr>(); };
  for (const Instr& instr : consumer_.body) {
    const int value = copy(body, instr, renamed, keep);
    if (instr.dst >= 0) renamed.push_back(value);
  }
  Nest merged{.axes = consumer_.axes,
              .order = consumer_.order,
              .body = body.finish(),
              .reductions = consumer_.reductions,
              .site = consumer_.site};
  for (Reduction& reduction : merged.reductions) reduction.value = renamed[reduction.value];
  remove_unused(merged);
  if (merged.reductions.empty()) order_.apply(merged);
  return merged;
}

}  // namespace ferrule::loops
