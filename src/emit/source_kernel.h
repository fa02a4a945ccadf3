// Source kernels: the author's C++ text with the frame that makes it a module: a `run` that calls the author's function
// with what the signature says, and the descriptor.
#pragma once

#include <string>

#include "signature/signature.h"

namespace ferrule {

// One translation unit: `source` as it is (its lines are numbered from 1 in a file "<name>.cpp"), then the frame.
// `signature` is completed; `digest` as in EmitOptions. Arrays are passed as pointers to the element type (complex and
// half types as whatever pointer the function takes), scalars and symbols by value.
std::string emit_source_kernel(const Signature& signature, const std::string& source, const std::string& digest);

}  // namespace ferrule
