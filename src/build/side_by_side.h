// Several runs of the compiler for one caller, at once where cores and memory allow it.
#pragma once

#include <functional>

namespace ferrule {

using Watch = std::function<void()>;

// Calls job(0, watch) ... job(count - 1, watch), in this thread and in others while fewer compilations run in this
// process than it may use cores. The first failure by number is thrown on, after all have ended: the others are ended
// by their `watch`. The given `watch` is called in this thread alone, and what it throws ends all and is thrown on.
void run_side_by_side(int count, const std::function<void(int job, const Watch& watch)>& job, const Watch& watch);

// How many of `wanted` further compilations may start beside `running`.
int further_compilations(int wanted, int running);

}  // namespace ferrule
