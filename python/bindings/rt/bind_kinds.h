// Arguments of source kernels that are neither arrays nor numbers: structs, texts, objects, callables, pointers. What
// is wrong raises at once, since no other specialisation could take it.
#pragma once

#include "attempt.h"

namespace ferrule::python {

// FR_ARG_RECORD to FR_ARG_POINTERS.
Outcome bind_kind(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt);

// FR_ARG_POINTERS (bind_pointers.cpp).
Outcome bind_pointers(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt);

// A list or tuple for an array that is only read, where the signature coerces: a copy of its values, with a warning.
Outcome bind_list(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt);

// Sets the Python error "f(): 'x' <text>".
Outcome refuse_argument(const Target& target, const ArgPlan& arg, Builtin builtin, const std::string& text);

}  // namespace ferrule::python
