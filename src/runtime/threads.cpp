#include "runtime/threads.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace ferrule {
namespace {

constexpr int kMostThreads = 1024;

// 0 unless the variable begins with a positive number that a comma or the end follows.
int positive_number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return 0;
  const char* end = text + std::strlen(text);
  while (*text == ' ') ++text;
  int value = 0;
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || value < 1 || (rest != end && *rest != ',' && *rest != ' ')) return 0;
  return std::min(value, kMostThreads);
}

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

}  // namespace

int default_num_threads() {
  if (const int n = positive_number("FERRULE_NUM_THREADS")) return n;
  if (const int n = positive_number("OMP_NUM_THREADS")) return n;
  return allowed_processors();
}

}  // namespace ferrule
