// Program -> Loops: one nest an operation, every array value in memory of its own. Right, and slow: schedule fuses.
#pragma once

#include "analyse/analyse.h"
#include "loops/loops.h"

namespace ferrule {

loops::Loops lower(const Program& program, const ProgramFacts& facts);

}  // namespace ferrule
