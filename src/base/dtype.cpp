#include "base/dtype.h"

#include <array>

namespace ferrule {
namespace {

struct Facts {
  std::string_view name, short_name, cpp_name;
  int size;
  DTypeKind kind;
};

constexpr std::array<Facts, kElementTypeCount> kFacts = {{
    {"bool", "b1", "bool", 1, DTypeKind::Bool},
    {"int8", "i8", "int8_t", 1, DTypeKind::Signed},
    {"int16", "i16", "int16_t", 2, DTypeKind::Signed},
    {"int32", "i32", "int32_t", 4, DTypeKind::Signed},
    {"int64", "i64", "int64_t", 8, DTypeKind::Signed},
    {"uint8", "u8", "uint8_t", 1, DTypeKind::Unsigned},
    {"uint16", "u16", "uint16_t", 2, DTypeKind::Unsigned},
    {"uint32", "u32", "uint32_t", 4, DTypeKind::Unsigned},
    {"uint64", "u64", "uint64_t", 8, DTypeKind::Unsigned},
    {"float16", "f16", "uint16_t", 2, DTypeKind::Float},
    {"bfloat16", "bf16", "uint16_t", 2, DTypeKind::Float},
    {"float32", "f32", "float", 4, DTypeKind::Float},
    {"float64", "f64", "double", 8, DTypeKind::Float},
    {"complex64", "c64", "fr_c64", 8, DTypeKind::Complex},
    {"complex128", "c128", "fr_c128", 16, DTypeKind::Complex},
    {"float8_e4m3fn", "f8e4m3fn", "uint8_t", 1, DTypeKind::Other},
    {"float8_e5m2", "f8e5m2", "uint8_t", 1, DTypeKind::Other},
    {"record", "record", "void", 0, DTypeKind::Other},
    {"object", "object", "void*", 8, DTypeKind::Other},
}};

const Facts& facts(DType dtype) { return kFacts[static_cast<size_t>(dtype)]; }

}  // namespace

int item_size(DType dtype) { return facts(dtype).size; }
DTypeKind kind_of(DType dtype) { return facts(dtype).kind; }
bool is_computable(DType d) { return d <= DType::U64 || d == DType::F32 || d == DType::F64; }
std::string_view name_of(DType dtype) { return facts(dtype).name; }
std::string_view short_name(DType dtype) { return facts(dtype).short_name; }
std::string_view cpp_name(DType dtype) { return facts(dtype).cpp_name; }

IntegerRange range_of(DType integer) {
  const int bits = 8 * item_size(integer);
  if (kind_of(integer) == DTypeKind::Unsigned) return {0, ~uint64_t{0} >> (64 - bits)};
  return {-1 - static_cast<int64_t>(~uint64_t{0} >> (65 - bits)), ~uint64_t{0} >> (65 - bits)};
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kFacts[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> element_type_from_name(std::string_view name) {
  for (int i = 0; i < kElementTypeCount; ++i)
    if (kFacts[i].name == name && static_cast<DType>(i) != DType::Record) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_short_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kFacts[i].short_name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace ferrule
