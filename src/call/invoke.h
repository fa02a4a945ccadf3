// Calling a kernel from plain C++: arguments and results as values, errors as exceptions.
#pragma once

#include <complex>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "array/array.h"
#include "call/handle.h"

namespace ferrule {

// An argument: nothing (where the signature allows it), an array, or a scalar. A scalar must be exactly of the declared
// kind (bool, integer, real, complex); integers are range-checked for the declared width.
using CallArgument = std::variant<std::monostate, ArrayRef, bool, int64_t, uint64_t, double, std::complex<double>>;

struct NamedValue {
  std::string_view name;
  int64_t value;
};

// A result; a scalar has rank 0 and memory of its own, None has no data. A result that is an argument, or a view of
// one, has no memory.
using Results = std::vector<Array>;

// Binds `arguments` in declared order (FR_ARG_STATIC ones left out), checks everything that a call from Python checks,
// and runs. `symbols` are explicit values by name. Raises a user error and touches no array when the call is refused;
// after a failed run written arrays are unspecified.
Results invoke(Handle& handle, std::span<const CallArgument> arguments, std::span<const NamedValue> symbols = {});

}  // namespace ferrule
