// Ferrule from C++: libferrule, which compiles, with all of libferrule_rt, which loads and calls.
//
// ProgramBuilder, parse_program  a program, operation by operation or from its text form
// Signature                      what callers may rely on of an author's C++ function
// compile, emit_source           a program to an artifact through a store, or to C++ text
#pragma once

#include "compiler.h"
#include "ferrule/runtime.h"
#include "program/builder.h"
#include "program/program_text.h"
#include "signature/signature.h"
