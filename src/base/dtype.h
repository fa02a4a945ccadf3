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
  // What source kernels may pass and captured programs do not know.
  F8E4M3FN = FR_F8_E4M3FN,
  F8E5M2 = FR_F8_E5M2,
  Record = FR_RECORD,
  Object = FR_OBJECT,
};

// Numbers of ordinary width, which have names in text forms and in exchange formats.
inline constexpr int kDTypeCount = 15;
// All of them.
inline constexpr int kElementTypeCount = 19;

enum class DTypeKind : uint8_t { Bool, Signed, Unsigned, Float, Complex, Other };

// Bytes of one element; 0 for Record, whose size its descriptor tells.
int item_size(DType dtype);
DTypeKind kind_of(DType dtype);
inline bool is_integer(DType d) { return d >= DType::I8 && d <= DType::U64; }
inline bool is_float(DType d) { return d >= DType::F16 && d <= DType::F64; }
inline bool is_complex(DType d) { return d == DType::C64 || d == DType::C128; }
inline bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }
inline bool is_float8(DType d) { return d == DType::F8E4M3FN || d == DType::F8E5M2; }
// Whether the compiler computes with this dtype today (bool, integers, f32, f64); others are refused by capture.
bool is_computable(DType dtype);

// The smallest and largest value of an integer type; `high` is unsigned so that uint64 fits.
struct IntegerRange {
  int64_t low;
  uint64_t high;
};
IntegerRange range_of(DType integer);

// NumPy's name: "bool", "int8", ..., "float64", "complex128"; that of ml_dtypes for what NumPy does not have; "record".
std::string_view name_of(DType dtype);
// Short name used in text forms: "b1", "i8", ..., "f64", "c128".
std::string_view short_name(DType dtype);
// The type that emitted code spells: "bool", "int8_t", ..., "double".
std::string_view cpp_name(DType dtype);
// Of numbers of ordinary width; element_type_from_name knows all but Record.
std::optional<DType> dtype_from_name(std::string_view name);
std::optional<DType> element_type_from_name(std::string_view name);
std::optional<DType> dtype_from_short_name(std::string_view name);

}  // namespace ferrule
