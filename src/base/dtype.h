// Element types and their facts: the one enumeration that every layer shares with the ABI.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ferrule/abi.h"

namespace ferrule {

enum class DType : uint8_t {
  Bool = FR_BOOL,
  I8 = FR_I8,
  I16 = FR_I16,
  I32 = FR_I32,
  I64 = FR_I64,
  U8 = FR_U8,
  U16 = FR_U16,
  U32 = FR_U32,
  U64 = FR_U64,
  F16 = FR_F16,
  BF16 = FR_BF16,
  F32 = FR_F32,
  F64 = FR_F64,
  C64 = FR_C64,
  C128 = FR_C128,
};

inline constexpr int kDTypeCount = 15;

enum class DTypeKind : uint8_t { Bool, Signed, Unsigned, Float, Complex };

// Bytes of one element.
int item_size(DType dtype);
DTypeKind kind_of(DType dtype);
inline bool is_integer(DType d) { return d >= DType::I8 && d <= DType::U64; }
inline bool is_float(DType d) { return d >= DType::F16 && d <= DType::F64; }
inline bool is_complex(DType d) { return d >= DType::C64; }
// Whether the compiler computes with this dtype today (bool, integers, f32, f64); others are refused by capture.
bool is_computable(DType dtype);

// The smallest and largest value of an integer type; `high` is unsigned so that uint64 fits.
struct IntegerRange {
  int64_t low;
  uint64_t high;
};
IntegerRange range_of(DType integer);

// NumPy's name: "bool", "int8", ..., "float64", "complex128"; "bfloat16" for BF16.
std::string_view name_of(DType dtype);
// Short name used in text forms: "b1", "i8", ..., "f64", "c128".
std::string_view short_name(DType dtype);
// The type that emitted code spells: "bool", "int8_t", ..., "double".
std::string_view cpp_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
std::optional<DType> dtype_from_short_name(std::string_view name);

}  // namespace ferrule
