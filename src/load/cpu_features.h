// Which instruction-set features this machine has, by the names that compilers use ("avx2", "fma", "avx512f").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferrule {

// Whether the host can run code that uses `feature`; a name that is not known here counts as absent.
bool host_has_feature(std::string_view feature);

// The entries of a comma-separated list that the host lacks, in order; blanks and empty entries are skipped.
std::vector<std::string> missing_features(std::string_view comma_separated);

}  // namespace ferrule
