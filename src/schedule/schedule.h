// Loops -> Loops: the passes that make the code fast. Each keeps the meaning and can be switched off.
#pragma once

#include <string>
#include <vector>

#include "loops/loops.h"

namespace ferrule {

struct SchedulePass {
  const char* name;
  const char* what;  // one line, for --help and explain()
  loops::Loops (*run)(loops::Loops loops);
  bool required;  // cannot be switched off (`place`)
};

// In order: inline producers into consumers, join neighbours, order axes, collapse axes, place buffers.
const std::vector<SchedulePass>& schedule_passes();

}  // namespace ferrule
