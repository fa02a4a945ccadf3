// The text form (`.fr`) of a Program: prints, parses, and round-trips; it is what keys hash.
#pragma once

#include <string>
#include <string_view>

#include "program/program.h"

namespace ferrule {

// Deterministic: depends on nothing but the program; values are numbered in order of appearance, sites are left out.
std::string print(const Program& program);
// Throws user_error naming line and column.
Program parse_program(std::string_view text);

}  // namespace ferrule
