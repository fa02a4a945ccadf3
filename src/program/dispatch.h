// From a dtype known at run time to the C++ type of its elements.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/error.h"

namespace ferrule {

// Calls f.template operator()<T>() with the element type of a computable dtype.
template <class F>
decltype(auto) with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Bool:
      return f.template operator()<bool>();
    case DType::I8:
      return f.template operator()<int8_t>();
    case DType::I16:
      return f.template operator()<int16_t>();
    case DType::I32:
      return f.template operator()<int32_t>();
    case DType::I64:
      return f.template operator()<int64_t>();
    case DType::U8:
      return f.template operator()<uint8_t>();
    case DType::U16:
      return f.template operator()<uint16_t>();
    case DType::U32:
      return f.template operator()<uint32_t>();
    case DType::U64:
      return f.template operator()<uint64_t>();
    case DType::F32:
      return f.template operator()<float>();
    case DType::F64:
      return f.template operator()<double>();
    default:
      throw internal_error("There is no arithmetic on '" + std::string(name_of(dtype)) + "' yet.");
  }
}

}  // namespace ferrule
