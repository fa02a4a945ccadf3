// Who evaluates the programs of modules for target 'reference': the compiler, which this library does not link.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ferrule/abi.h"

namespace ferrule {

// Evaluates a program for a call and gives it its results, of `kinds` (FrReturnKind): what FrHost::evaluate gives. May
// throw what derives from std::exception.
using Evaluate = int32_t (*)(const FrCall& call, const FrProgram& program, std::span<const uint8_t> kinds);

// Every later call of such modules uses it. Thread-safe.
void set_evaluator(Evaluate evaluate);

// Is asked for an evaluator, by any thread, where none is set and a call needs one: loads the compiler, which sets it.
using EvaluatorSource = void (*)();
void set_evaluator_source(EvaluatorSource source);

// Whether a call would find one.
bool has_evaluator();

// Throws no_evaluator() where there is none.
Evaluate require_evaluator();

// The error, an Error(Incompatible), for the module `name`.
Error no_evaluator(std::string_view name);

}  // namespace ferrule
