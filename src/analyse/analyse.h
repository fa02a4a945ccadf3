// Facts about a Program that lowering needs: what may alias, and where memory made in a loop outlives its iteration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/program.h"

namespace ferrule {

struct ProgramFacts {
  // may_be[b]: the buffers whose memory a Carried buffer is bound to somewhere, ascending; empty for all others.
  std::vector<std::vector<BufferId>> may_be;
  // roots[b]: the memory (Argument, Constant or Transient buffers) that buffer b may stand for, ascending; a buffer
  // that is its own memory has itself alone.
  std::vector<std::vector<BufferId>> roots;
  // avoid[b]: the Carried buffers that may still point to an earlier memory of Transient b when its Alloc runs again.
  // Where there are k of them, k + 1 memories in turn are enough.
  std::vector<std::vector<BufferId>> avoid;
  // Pairs (a < b) that share roots but never point to the same memory at a time: the two ends of a swap, and a
  // Transient against the pointers that its Alloc avoids.
  std::vector<std::pair<BufferId, BufferId>> distinct;
  bool arguments_may_alias = false;

  // Whether two buffers may share memory at a point where both are in use.
  bool may_alias(BufferId a, BufferId b) const;
};

ProgramFacts analyse(const Program& program);

// Readable text of it, for FERRULE_DUMP.
std::string print(const ProgramFacts& facts);

}  // namespace ferrule
