// C++ spellings of values: numbers of every dtype, strings, postfix words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace ferrule {

// The value with the given bytes (zero-extended) as an expression of exactly the dtype's C++ type.
std::string literal(DType dtype, uint64_t bits);
// A quoted and escaped C++ string.
std::string quoted(std::string_view text);

}  // namespace ferrule
