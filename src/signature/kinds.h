// What each kind of argument and return may declare.
#pragma once

#include "signature/signature.h"

namespace ferrule {

// Refuses what contradicts the kind of an argument or return, naming it. Throws Error(User).
void check_kinds(const Signature& signature);

// The argument that "x.length" means: a string or an array of pointers; null for another text.
const SignatureArgument* length_parameter(const Signature& signature, const std::string& text);

}  // namespace ferrule
