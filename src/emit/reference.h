// A module for target 'reference': the program as text, and a `run` that has the host evaluate it.
#pragma once

#include <string>

#include "emit/emit.h"
#include "program/program.h"

namespace ferrule {

// `loops`: the program as `lower` gives it, for what a caller has to know; `text`: as print() gives it.
std::string emit_reference(const Program& program, const std::string& text, const loops::Loops& loops,
                           const EmitOptions& options);

}  // namespace ferrule
