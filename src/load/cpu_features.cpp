#include "load/cpu_features.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace ferrule {
namespace {

struct Feature {
  std::string_view name;
  bool present;
};

#if defined(__x86_64__)
// __builtin_cpu_supports takes literals only, so the table is made by a macro; it also asks the operating system
// whether it saves the wide registers, which plain cpuid bits do not tell.
#define X86_FEATURES(X)                                                                                              \
  X("mmx") X("sse") X("sse2") X("sse3") X("ssse3") X("sse4.1") X("sse4.2") X("popcnt") X("aes") X("pclmul") X("avx") \
  X("avx2") X("bmi") X("bmi2") X("fma") X("f16c") X("lzcnt") X("movbe") X("adx") X("rdrnd") X("rdseed") X("sha")     \
  X("gfni") X("vaes") X("vpclmulqdq") X("sse4a") X("fma4") X("xop") X("tbm") X("lwp") X("fxsr") X("xsave")           \
  X("xsaveopt") X("xsavec") X("xsaves") X("sahf") X("cx16") X("fsgsbase") X("prfchw") X("clflushopt") X("clwb")      \
  X("clzero") X("mwaitx") X("wbnoinvd") X("rdpid") X("pku") X("rtm") X("hle") X("ptwrite") X("waitpkg")              \
  X("serialize") X("movdiri") X("movdir64b") X("cldemote") X("avx512f") X("avx512vl") X("avx512bw") X("avx512dq")    \
  X("avx512cd") X("avx512er") X("avx512pf") X("avx512vbmi") X("avx512vbmi2") X("avx512ifma") X("avx512vpopcntdq")    \
  X("avx512bitalg") X("avx512vnni") X("avx512bf16") X("avx512vp2intersect") X("avx512fp16") X("avxvnni")             \
  X("x86-64") X("x86-64-v2") X("x86-64-v3") X("x86-64-v4")
#elif defined(__aarch64__)
#define ARM_FEATURES(X)                                                                                     \
  X("fp", 0) X("simd", 1) X("aes", 3) X("sha2", 6) X("crc", 7) X("lse", 8) X("fp16", 9) X("rdma", 12)       \
  X("dotprod", 20) X("sve", 22) X("fp16fml", 23)
#endif

const std::vector<Feature>& host_features() {
  static const std::vector<Feature> features = [] {
    std::vector<Feature> list;
#if defined(__x86_64__)
    __builtin_cpu_init();
#define ADD(name) list.push_back({name, __builtin_cpu_supports(name) != 0});
    X86_FEATURES(ADD)
#undef ADD
#elif defined(__aarch64__)
    const unsigned long caps = getauxval(AT_HWCAP);
#define ADD(name, bit) list.push_back({name, ((caps >> bit) & 1) != 0});
    ARM_FEATURES(ADD)
#undef ADD
#endif
    return list;
  }();
  return features;
}

}  // namespace

bool host_has_feature(std::string_view feature) {
  for (const Feature& f : host_features())
    if (f.name == feature) return f.present;
  return false;
}

std::vector<std::string> missing_features(std::string_view list) {
  std::vector<std::string> missing;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty() && !host_has_feature(name)) missing.emplace_back(name);
  }
  return missing;
}

}  // namespace ferrule
