// Scalars of the text form: decimal, exact, with the payload of a NaN.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace ferrule {

// "true", "-7", "0.1", "inf", "nan:0x7ff8000000000000".
std::string constant_text(DType dtype, uint64_t bits);
// The zero-extended bytes, or nullopt where the text is no value of the dtype.
std::optional<uint64_t> parse_constant(DType dtype, std::string_view text);

}  // namespace ferrule
