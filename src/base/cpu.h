// What this CPU can run: the names that compilers use, read from the processor itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferrule {

// What this CPU and its operating system can run, sorted, under GCC's names ("avx2", "avx512f"). Empty on
// architectures whose features are not told apart.
const std::vector<std::string>& host_features();

// True iff host_features() can tell whether a CPU has `name`.
bool is_told_feature(std::string_view name);

// Those of `needed` that this host lacks.
std::vector<std::string> missing_features(std::span<const std::string> needed);

// Vendor, family, model and stepping of this CPU as one text; part of what "native" depends on.
std::string cpu_model();

}  // namespace ferrule
