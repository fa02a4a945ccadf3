// Settings that are several words: CXX, CXXFLAGS.
#pragma once

#include <string>
#include <vector>

namespace ferrule {

// Splits as a POSIX shell would split a line without expansions: by spaces outside quotes and backslashes.
std::vector<std::string> split_words(const std::string& text);

}  // namespace ferrule
