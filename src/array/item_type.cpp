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

// Nothing for a text that is no code of one number, and for a number that does not fill its item.
std::optional<DType> dtype_of_code(std::string_view code, int64_t item) {
  const auto number = [item](DType dtype) { return item == item_size(dtype) ? std::optional(dtype) : std::nullopt; };
  const bool complex = code.size() == 2 && code[0] == 'Z';
  if (code.size() != 1 && !complex) return std::nullopt;
  if (code.back() == 'd') return number(complex ? DType::C128 : DType::F64);
  if (code.back() == 'f') return number(complex ? DType::C64 : DType::F32);
  if (complex) return std::nullopt;
  switch (code[0]) {
    case '?':
      return number(DType::Bool);
    case 'b':
      return number(DType::I8);
    case 'B':
      return number(DType::U8);
    case 'h':
      return number(DType::I16);
    case 'H':
      return number(DType::U16);
    case 'i':
      return number(DType::I32);
    case 'I':
      return number(DType::U32);
    case 'q':
      return number(DType::I64);
    case 'Q':
      return number(DType::U64);
    case 'l':  // of four bytes where an order is said, else as the platform has it
    case 'n':
      return item == 4 ? DType::I32 : number(DType::I64);
    case 'L':
    case 'N':
      return item == 4 ? DType::U32 : number(DType::U64);
    case 'e':
      return number(DType::F16);
    case 'F':
      return number(DType::C64);
    case 'D':
      return number(DType::C128);
    default:
      return std::nullopt;
  }
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
  const char first = code.empty() ? '\0' : code[0];
  if (first == '@' || first == '=' || first == '<' || first == '>' || first == '!') {
    order = first;
    code.remove_prefix(1);
  }
  return in_order(dtype_of_code(code, item), order);
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
