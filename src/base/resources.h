// What of the machine this process may use, and what a run of the C++ compiler takes of it.
#pragma once

#include <cstdint>

namespace ferrule {

inline constexpr int64_t kCompilerBytes = int64_t{400} << 20;
inline constexpr int64_t kHeadroomBytes = int64_t{256} << 20;  // what is left for everything else

// Cores that this process may use.
int usable_cores();

// Bytes that can be had without swapping, by the system and by the control group; -1 where nothing says it.
int64_t available_memory();

}  // namespace ferrule
