// Memory that a caller gives for a returned array, by the return's name.
#pragma once

#include <optional>

#include "attempt.h"

namespace ferrule::python {

// Takes a keyword that names a return; nothing for another name.
std::optional<Outcome> take_override(const Target& target, PyObject* name, PyObject* value, Attempt& attempt);

// The array that was given for return `index`, borrowed; null where none was.
PyObject* override_of(Attempt& attempt, size_t index);

// Whether it can hold that return: element type, shape as inferred, layout, writability, and that it shares no memory
// with an argument or with what was given for another return. False with a Python error set.
bool check_override(const Target& target, size_t index, Attempt& attempt);

}  // namespace ferrule::python
