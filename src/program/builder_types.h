// Types and checks that the parts of the builder share.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/program.h"

namespace ferrule {

inline void require_computable(DType dtype, std::string_view what) {
  if (!is_computable(dtype))
    throw unsupported(fmt::format("Ferrule does not {} {} yet; use float32 or float64 arrays.", what, name_of(dtype)));
}

inline ValueType scalar_type(DType dtype, bool weak = false) {
  return {.kind = ValueKind::Scalar, .dtype = dtype, .weak = weak};
}

// A scalar where the shape is empty.
inline ValueType array_type(DType dtype, std::vector<Expr> shape) {
  if (shape.empty()) return scalar_type(dtype);
  return {.kind = ValueKind::Array, .dtype = dtype, .shape = std::move(shape)};
}

}  // namespace ferrule
