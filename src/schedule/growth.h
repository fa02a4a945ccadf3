// A consumer while producers are put into it. What it would load is followed step by step, which is what the decisions
// ask for; the body is built once, at the end, so that the work is proportional to what is put in.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loops/nest_builder.h"
#include "loops/walk.h"
#include "schedule/dependence.h"

namespace ferrule::loops {

class Growth {
 public:
  // `facts` hold where the consumer stands; all three outlive this object.
  Growth(const Nest& consumer, const Aliases& aliases, Facts& facts);

  // The distinct index maps at which the consumer loads the buffer now, in no order.
  const std::vector<Access>& loads(BufferId buffer) const;
  // Buffers that it loads, once for each distinct index map.
  std::vector<BufferId> loaded() const;
  // Length of the body to come; operations that coincide there count twice.
  size_t size() const { return size_; }
  // The arithmetic that is repeated so far on the way to a load of the buffer.
  int64_t repeated(BufferId buffer) const;

  // Puts the producer of the buffer in the place of all loads of it; `repeated` is what that makes of the arithmetic
  // repeated on the way to its loads. Returns the buffers of loads that are new, once for each index map; nullopt, and
  // nothing is changed, where the consumer would overwrite what it has yet to read. The producer outlives this object.
  std::optional<std::vector<BufferId>> take(BufferId buffer, const Nest& producer, int64_t repeated);
  bool took_any() const { return !inlined_.empty(); }

  // The consumer with all that was taken.
  Nest finish();

 private:
  using Replace = std::function<std::optional<Expr>(SymbolId)>;

  bool add_load(const Access& access);
  void count_others(const Nest& nest);
  // Appends an instruction of the consumer or of a producer; returns its register.
  int copy(NestBuilder& body, const Instr& instr, const std::vector<int>& renamed, const Replace& replace);
  int expand(NestBuilder& body, const Access& load, const Nest& producer);

  const Nest& consumer_;
  const Aliases& aliases_;
  OldValues order_;
  bool ordered_;
  std::unordered_map<BufferId, std::vector<Access>> loads_;
  std::unordered_set<Access, AccessHash> all_loads_;
  std::unordered_map<Access, const Nest*, AccessHash> inlined_;
  std::unordered_map<BufferId, int64_t> repeated_;
  std::set<std::pair<DType, uint64_t>> constants_;
  size_t size_ = 0;
  // While the body is built: what loads of inlined producers gave since the last store.
  std::unordered_map<Access, int, AccessHash> values_;
};

}  // namespace ferrule::loops
