#include "schedule/schedule.h"

#include "schedule/place.h"

namespace ferrule {

const std::vector<SchedulePass>& schedule_passes() {
  static const std::vector<SchedulePass> passes = {
      {"place", "gives buffers their memory and estimates the work", loops::place, true},
  };
  return passes;
}

}  // namespace ferrule
