#include "array/item_type.h"

#include <bit>

namespace ferrule {
namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;

std::optional<DType> dtype_of_kind(DTypeKind kind, int64_t item) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::BF16 && kind_of(dtype) == kind && item_size(dtype) == item) return dtype;
  }
  return std::nullopt;
}

std::optional<DTypeKind> kind_of_code(std::string_view code) {
  if (code == "?") return DTypeKind::Bool;
  if (code == "Zf" || code == "Zd" || code == "F" || code == "D") return DTypeKind::Complex;
  if (code.size() != 1) return std::nullopt;
  if (std::string_view("bhilqn").find(code[0]) != std::string_view::npos) return DTypeKind::Signed;
  if (std::string_view("BHILQN").find(code[0]) != std::string_view::npos) return DTypeKind::Unsigned;
  if (std::string_view("efd").find(code[0]) != std::string_view::npos) return DTypeKind::Float;
  return std::nullopt;
}

ItemType in_order(std::optional<DType> dtype, char order) {
  const bool big = order == '>' || order == '!', little = order == '<';
  if (dtype.has_value() && item_size(*dtype) > 1 && (kLittle ? big : little)) return {std::nullopt, true};
  return {dtype};
}

}  // namespace

ItemType parse_format(const char* format, int64_t item) {
  std::string_view code = format == nullptr ? "B" : format;
  char order = '@';
  if (!code.empty() && std::string_view("@=<>!").find(code[0]) != std::string_view::npos) {
    order = code[0];
    code.remove_prefix(1);
  }
  const std::optional<DTypeKind> kind = kind_of_code(code);
  return kind.has_value() ? in_order(dtype_of_kind(*kind, item), order) : ItemType{};
}

ItemType parse_typestr(std::string_view text) {
  if (text.size() < 3 || std::string_view("<>|=").find(text[0]) == std::string_view::npos) return {};
  int64_t item = 0;
  for (const char digit : text.substr(2)) {
    if (digit < '0' || digit > '9' || item > 1000) return {};
    item = item * 10 + (digit - '0');
  }
  switch (text[1]) {
    case 'b':
      return in_order(dtype_of_kind(DTypeKind::Bool, item), text[0]);
    case 'i':
      return in_order(dtype_of_kind(DTypeKind::Signed, item), text[0]);
    case 'u':
      return in_order(dtype_of_kind(DTypeKind::Unsigned, item), text[0]);
    case 'f':
      return in_order(dtype_of_kind(DTypeKind::Float, item), text[0]);
    case 'c':
      return in_order(dtype_of_kind(DTypeKind::Complex, item), text[0]);
    default:
      return {};
  }
}

const char* format_of(DType dtype) {
  static_assert(sizeof(long) == 8, "'l' is int64 here, as NumPy has it");
  constexpr const char* kFormats[kDTypeCount] = {"?", "b", "h",     "i", "l", "B",  "H", "I",
                                                 "L", "e", nullptr, "f", "d", "Zf", "Zd"};
  return static_cast<int>(dtype) < kDTypeCount ? kFormats[static_cast<int>(dtype)] : nullptr;
}

std::string typestr_of(DType dtype) {
  if (format_of(dtype) == nullptr) return {};
  constexpr char kKinds[] = {'b', 'i', 'u', 'f', 'c'};
  const int item = item_size(dtype);
  const char order = item == 1 ? '|' : kLittle ? '<' : '>';
  return std::string{order, kKinds[static_cast<int>(kind_of(dtype))]} + std::to_string(item);
}

}  // namespace ferrule
