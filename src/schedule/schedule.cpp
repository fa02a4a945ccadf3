#include "schedule/schedule.h"

#include "schedule/collapse.h"
#include "schedule/inline.h"
#include "schedule/join.h"
#include "schedule/order.h"
#include "schedule/place.h"

namespace ferrule {

const std::vector<SchedulePass>& schedule_passes() {
  static const std::vector<SchedulePass> passes = {
      {"inline", "puts producers into their consumers", loops::inline_producers, false},
      {"join", "makes neighbouring nests one", loops::join, false},
      {"order", "puts the axis of least stride innermost", loops::order, false},
      {"collapse", "makes one loop of axes that walk memory as one", loops::collapse, false},
      {"place", "gives buffers their memory and estimates the work", loops::place, true},
  };
  return passes;
}

}  // namespace ferrule
