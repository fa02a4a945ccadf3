#include "base/cpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ferrule {
namespace {

#if defined(__x86_64__)

enum Register { Eax, Ebx, Ecx, Edx };
// Which register state the operating system must save for the feature to be usable.
enum class State { None, Avx, Avx512 };

struct Feature {
  const char* name;  // GCC's
  unsigned leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

// Computing instructions only: what a compiler may put into a kernel.
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, Ecx, 0, State::None},
    {"pclmul", 1, 0, Ecx, 1, State::None},
    {"ssse3", 1, 0, Ecx, 9, State::None},
    {"fma", 1, 0, Ecx, 12, State::Avx},
    {"sse4.1", 1, 0, Ecx, 19, State::None},
    {"sse4.2", 1, 0, Ecx, 20, State::None},
    {"movbe", 1, 0, Ecx, 22, State::None},
    {"popcnt", 1, 0, Ecx, 23, State::None},
    {"aes", 1, 0, Ecx, 25, State::None},
    {"avx", 1, 0, Ecx, 28, State::Avx},
    {"f16c", 1, 0, Ecx, 29, State::Avx},
    {"lzcnt", 0x80000001, 0, Ecx, 5, State::None},
    {"sse4a", 0x80000001, 0, Ecx, 6, State::None},
    {"xop", 0x80000001, 0, Ecx, 11, State::Avx},
    {"fma4", 0x80000001, 0, Ecx, 16, State::Avx},
    {"tbm", 0x80000001, 0, Ecx, 21, State::None},
    {"bmi", 7, 0, Ebx, 3, State::None},
    {"avx2", 7, 0, Ebx, 5, State::Avx},
    {"bmi2", 7, 0, Ebx, 8, State::None},
    {"adx", 7, 0, Ebx, 19, State::None},
    {"sha", 7, 0, Ebx, 29, State::None},
    {"gfni", 7, 0, Ecx, 8, State::None},
    {"vaes", 7, 0, Ecx, 9, State::Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, State::Avx},
    {"avxvnni", 7, 1, Eax, 4, State::Avx},
    {"avx512f", 7, 0, Ebx, 16, State::Avx512},
    {"avx512dq", 7, 0, Ebx, 17, State::Avx512},
    {"avx512ifma", 7, 0, Ebx, 21, State::Avx512},
    {"avx512cd", 7, 0, Ebx, 28, State::Avx512},
    {"avx512bw", 7, 0, Ebx, 30, State::Avx512},
    {"avx512vl", 7, 0, Ebx, 31, State::Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, State::Avx512},
    {"avx512vbmi2", 7, 0, Ecx, 6, State::Avx512},
    {"avx512vnni", 7, 0, Ecx, 11, State::Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, State::Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, State::Avx512},
    {"avx512vp2intersect", 7, 0, Edx, 8, State::Avx512},
    {"avx512fp16", 7, 0, Edx, 23, State::Avx512},
    {"avx512bf16", 7, 1, Eax, 5, State::Avx512},
};

uint64_t saved_state() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27))) return 0;  // no OSXSAVE
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool has(const Feature& feature, uint64_t saved) {
  const uint64_t needed = feature.state == State::Avx512 ? 0xe6 : feature.state == State::Avx ? 0x6 : 0;
  if ((saved & needed) != needed) return false;
  unsigned regs[4];
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[Eax], &regs[Ebx], &regs[Ecx], &regs[Edx])) return false;
  return regs[feature.reg] >> feature.bit & 1;
}

std::vector<std::string> read_features() {
  std::vector<std::string> names;
  const uint64_t saved = saved_state();
  for (const Feature& feature : kFeatures) {
    if (has(feature, saved)) names.push_back(feature.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_model() {
  unsigned vendor[4] = {}, version[4] = {};
  __get_cpuid(0, &vendor[Eax], &vendor[Ebx], &vendor[Ecx], &vendor[Edx]);
  __get_cpuid(1, &version[Eax], &version[Ebx], &version[Ecx], &version[Edx]);
  return fmt::format("{:08x}{:08x}{:08x}-{:08x}", vendor[Ebx], vendor[Edx], vendor[Ecx], version[Eax]);
}

bool is_told(std::string_view name) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& f) { return name == f.name; });
}

#else

std::vector<std::string> read_features() { return {}; }
bool is_told(std::string_view) { return false; }

// The kernel's identification of the first CPU; the same text on machines of one kind.
std::string read_model() {
  std::string text;
  read_file("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", &text);
  return text;
}

#endif

}  // namespace

const std::vector<std::string>& host_features() {
  static const std::vector<std::string> features = read_features();
  return features;
}

bool is_told_feature(std::string_view name) { return is_told(name); }

std::string cpu_model() { return read_model(); }

std::vector<std::string> missing_features(std::span<const std::string> needed) {
  const std::vector<std::string>& have = host_features();
  std::vector<std::string> missing;
  for (const std::string& name : needed) {
    if (!std::binary_search(have.begin(), have.end(), name)) missing.push_back(name);
  }
  return missing;
}

}  // namespace ferrule
