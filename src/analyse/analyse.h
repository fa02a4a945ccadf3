// Facts about a Program that lowering needs: what may alias, what each operation reads and writes.
#pragma once

#include <vector>

#include "program/program.h"

namespace ferrule {

struct ProgramFacts {
  // roots[b]: the memory (Argument, Constant or Transient buffers) that buffer b may stand for, ascending; a buffer
  // that is its own memory has itself alone.
  std::vector<std::vector<BufferId>> roots;
  bool arguments_may_alias = false;

  // Whether two buffers may share memory.
  bool may_alias(BufferId a, BufferId b) const;
};

ProgramFacts analyse(const Program& program);

}  // namespace ferrule
