// What a compiler that failed has to say, as one short line.
#pragma once

#include <string>

namespace ferrule {

// The line of a compiler's or linker's output that says what is wrong, else the last that is not empty: as text in
// UTF-8 without colours, shortened. Where it stands in a header, the place in the source that led there is behind it.
std::string first_error(const std::string& output);

}  // namespace ferrule
