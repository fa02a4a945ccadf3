#include "emit/literal.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/error.h"

namespace ferrule {
namespace {

template <class T>
std::string float_literal(T value, std::string_view type, std::string_view suffix, uint64_t bits) {
  if (std::isnan(value)) return fmt::format("fr::from_bits<{}>({:#x}u)", type, bits);
  if (std::isinf(value)) return fmt::format("{}fr::FloatFacts<{}>::inf", value < 0 ? "-" : "", type);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + std::string(suffix);
}

}  // namespace

std::string literal(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::Bool:
      return bits != 0 ? "true" : "false";
    case DType::I8:
      return fmt::format("int8_t({})", int8_t(bits));
    case DType::I16:
      return fmt::format("int16_t({})", int16_t(bits));
    case DType::I32:
      return int32_t(bits) == INT32_MIN ? "INT32_MIN" : fmt::format("int32_t({})", int32_t(bits));
    case DType::I64:
      return int64_t(bits) == INT64_MIN ? "INT64_MIN" : fmt::format("int64_t({})", int64_t(bits));
    case DType::U8:
      return fmt::format("uint8_t({})", uint8_t(bits));
    case DType::U16:
      return fmt::format("uint16_t({})", uint16_t(bits));
    case DType::U32:
      return fmt::format("uint32_t({}u)", uint32_t(bits));
    case DType::U64:
      return fmt::format("uint64_t({}u)", bits);
    case DType::F32:
      return float_literal(std::bit_cast<float>(uint32_t(bits)), "float", "f", bits);
    case DType::F64:
      return float_literal(std::bit_cast<double>(bits), "double", "", bits);
    default:
      throw internal_error(fmt::format("There is no literal of {}.", name_of(dtype)));
  }
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c >= ' ' && c <= '~' && c != '?') {
      result += c;
    } else {
      // Three octal digits end by themselves; '?' is escaped for trigraphs.
      result += fmt::format("\\{:03o}", uint8_t(c));
    }
  }
  return result + '"';
}

}  // namespace ferrule
