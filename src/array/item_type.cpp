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

struct Code {
  std::string_view text;
  DTypeKind kind;
  int64_t item;  // what every exporter means by it; 0: the platform decides, or whether an order is said
};

constexpr Code kCodes[] = {
    {"?", DTypeKind::Bool, 1},      {"b", DTypeKind::Signed, 1},   {"B", DTypeKind::Unsigned, 1},
    {"h", DTypeKind::Signed, 2},    {"H", DTypeKind::Unsigned, 2}, {"i", DTypeKind::Signed, 4},
    {"I", DTypeKind::Unsigned, 4},  {"l", DTypeKind::Signed, 0},   {"L", DTypeKind::Unsigned, 0},
    {"q", DTypeKind::Signed, 8},    {"Q", DTypeKind::Unsigned, 8}, {"n", DTypeKind::Signed, 0},
    {"N", DTypeKind::Unsigned, 0},  {"e", DTypeKind::Float, 2},    {"f", DTypeKind::Float, 4},
    {"d", DTypeKind::Float, 8},     {"Zf", DTypeKind::Complex, 8}, {"Zd", DTypeKind::Complex, 16},
    {"F", DTypeKind::Complex, 8},   {"D", DTypeKind::Complex, 16}};

// Nothing for a text that is no code of one number, and for a number that does not fill its item.
std::optional<DTypeKind> kind_of_code(std::string_view text, int64_t item) {
  for (const Code& code : kCodes) {
    if (code.text != text) continue;
    const bool fills = code.item == 0 ? item == 4 || item == 8 : item == code.item;
    return fills ? std::optional(code.kind) : std::nullopt;
  }
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
  const std::optional<DTypeKind> kind = kind_of_code(code, item);
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
