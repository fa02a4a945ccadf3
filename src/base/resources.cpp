#include "base/resources.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace ferrule {
namespace {

// The number in a file; -1 where there is none ("max", no such file).
int64_t number_in(const std::string& path) {
  int64_t number = -1;
  return std::ifstream(path) >> number ? number : -1;
}

int64_t available_in_system() {
  std::ifstream lines("/proc/meminfo");
  for (std::string name, rest; lines >> name;) {
    int64_t kilobytes;
    if (name == "MemAvailable:" && lines >> kilobytes) return kilobytes << 10;
    std::getline(lines, rest);
  }
  return -1;
}

// The system's own group has no such files, and most groups have no limit.
int64_t available_in_group() {
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string group = "/sys/fs/cgroup" + line.substr(3);
    const int64_t most = number_in(group + "/memory.max"), current = number_in(group + "/memory.current");
    if (most >= 0 && current >= 0) return std::max<int64_t>(0, most - current);
  }
  return -1;
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int64_t available_memory() {
  const int64_t system = available_in_system(), group = available_in_group();
  return system < 0 || group < 0 ? std::max(system, group) : std::min(system, group);
}

}  // namespace ferrule
