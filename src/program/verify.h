// Legality of a Program: types, shapes, dominance, effects; run after capture and after parsing.
#pragma once

#include "program/program.h"

namespace ferrule {

// Throws internal_error that names the first broken rule and prints the operation.
void verify(const Program& program);

}  // namespace ferrule
