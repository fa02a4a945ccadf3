// What an error code of abi.h is in Python.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "ferrule/abi.h"

namespace ferrule {

inline Builtin builtin_of_code(int32_t code) {
  switch (code) {
    case FR_ERR_INDEX:
      return Builtin::Index;
    case FR_ERR_MEMORY:
      return Builtin::Memory;
    case FR_ERR_ASSERT:
      return Builtin::Assertion;
    case FR_ERR_TYPE:
      return Builtin::Type;
    case FR_ERR_RAISE:
      return Builtin::Runtime;
    case FR_ERR_UNDEFINED:
      return Builtin::UnboundLocal;
    case FR_ERR_OVERFLOW:
      return Builtin::Overflow;
    case FR_ERR_ZERO_DIVISION:
      return Builtin::ZeroDivision;
    default:
      return Builtin::Value;
  }
}

}  // namespace ferrule
