// The evaluator behind a module's interface: what FrHost::evaluate does where the compiler is linked.
#pragma once

#include <cstdint>
#include <span>

#include "ferrule/abi.h"

namespace ferrule {

// Evaluates a program on a call's arguments and symbols and gives the call its results, of `kinds` (FrReturnKind).
// FR_OK, or FR_STATUS_ERROR with the error recorded in the call. Throws what parse_program throws, and
// Error(Internal) where the program breaks a rule.
int32_t evaluate_call(const FrCall& call, const FrProgram& program, std::span<const uint8_t> kinds);

}  // namespace ferrule
