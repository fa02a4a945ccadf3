// Questions that passes ask of Loops: which memory is touched where, what may overlap, where an access points.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "loops/loops.h"

namespace ferrule::loops {

// For containers of accesses.
struct AccessHash {
  size_t operator()(const Access& access) const;
};

// What may share memory. Made from the buffers of one Loops; stays right while no buffer is added.
class Aliases {
 public:
  explicit Aliases(const Loops& loops);
  // The memory that a buffer may stand for, ascending.
  const std::vector<BufferId>& roots(BufferId buffer) const { return roots_[buffer]; }
  bool may_alias(BufferId a, BufferId b) const;

 private:
  std::vector<std::vector<BufferId>> roots_;
  std::vector<BufferId> memory_;  // the buffer without Alias steps
  std::vector<std::pair<BufferId, BufferId>> distinct_;
};

// Calls for every access of the statement and of all blocks in it: (access, whether it is written).
void for_each_access(const Stmt& stmt, const std::function<void(const Access&, bool)>& visit);
void for_each_access(const Block& block, const std::function<void(const Access&, bool)>& visit);
// The same for one nest.
void for_each_access(const Nest& nest, const std::function<void(const Access&, bool)>& visit);
void for_each_access(Nest& nest, const std::function<void(Access&, bool)>& visit);

// Calls for every statement, outer before inner.
void for_each_stmt(const Block& block, const std::function<void(const Stmt&)>& visit);

// Calls for every block that stands directly in the statement, in program order.
void for_each_block(Stmt& stmt, const std::function<void(Block&)>& visit);
// Calls for every nest of the block and of the blocks in it.
void for_each_nest(Block& block, const std::function<void(Nest&)>& visit);

// Whether the statement may change the value of a symbol (a Define or a For within).
bool defines(const Stmt& stmt, SymbolId symbol);
// Every expression's symbols in a nest, less its own axes.
std::vector<SymbolId> free_symbols(const Nest& nest);

// Elements from the first element of the buffer's memory pointer.
Expr linear_address(const Loops& loops, const Access& access);

// Removes buffers that no statement touches and renumbers the rest; buffers of arguments stay, descriptors describe
// them.
void remove_unused_buffers(Loops& loops);

// The variable of axis `depth`, shared by all nests.
SymbolId axis_variable(Symbols& symbols, int depth);

// Cost of an iteration of the body in the units of ops.def; loads and stores count a half, rounded up.
int64_t body_cost(const Nest& nest);

// Facts that hold for all runs of the program: its guards and the signs of its symbols.
Facts entry_facts(const Loops& loops);

// True for symbols whose value is known when a call begins.
std::vector<bool> entry_symbols(const Loops& loops);

}  // namespace ferrule::loops
