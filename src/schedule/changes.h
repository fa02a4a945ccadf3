// Where statements change what others read: the positions of writes, binds and definitions, looked up by range.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "loops/loops.h"
#include "loops/walk.h"

namespace ferrule::loops {

// Made once for one Loops; statements may lose their effects afterwards, but neither move nor gain any.
class Changes {
 public:
  // Numbers of statements in program order, the last one included.
  struct Span {
    int first = 0, last = -1;
  };

  Changes(const Loops& loops, const Aliases& aliases);
  // The statement and all those in it.
  Span span(const Stmt& stmt) const { return spans_.at(&stmt); }
  // Whether a statement in the span may change what the nest reads: memory, the pointers to it, or symbols.
  bool may_change(Span span, const Nest& nest) const;

 private:
  struct Write {
    int number;
    BufferId buffer;
  };

  void visit(const Block& block);
  void wrote(int number, BufferId buffer);

  const Aliases& aliases_;
  int next_ = 0;
  std::unordered_map<const Stmt*, Span> spans_;
  // Each ascending by statement.
  std::vector<std::vector<Write>> writes_;  // by root
  std::unordered_map<BufferId, std::vector<int>> binds_;
  std::unordered_map<SymbolId, std::vector<int>> defines_;
};

}  // namespace ferrule::loops
