#include "program/text_constants.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>

namespace ferrule {
namespace {

template <class Float, class Bits>
std::string float_text(uint64_t bits) {
  const Bits narrow = static_cast<Bits>(bits);
  Float value;
  std::memcpy(&value, &narrow, sizeof value);
  if (std::isnan(value)) return fmt::format("nan:{:#x}", narrow);
  return fmt::format("{}", value);
}

template <class Float, class Bits>
std::optional<uint64_t> parse_float(std::string_view text) {
  Bits bits = 0;
  if (text.starts_with("nan:0x")) {
    const auto [end, error] = std::from_chars(text.data() + 6, text.data() + text.size(), bits, 16);
    Float value;
    std::memcpy(&value, &bits, sizeof value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isnan(value)) return std::nullopt;
    return bits;
  }
  Float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

std::string constant_text(DType dtype, uint64_t bits) {
  if (dtype == DType::Bool) return bits != 0 ? "true" : "false";
  if (dtype == DType::F64) return float_text<double, uint64_t>(bits);
  if (dtype == DType::F32) return float_text<float, uint32_t>(bits);
  if (kind_of(dtype) == DTypeKind::Unsigned) return fmt::format("{}", bits);
  const int unused = 64 - 8 * item_size(dtype);
  return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
}

std::optional<uint64_t> parse_constant(DType dtype, std::string_view text) {
  if (dtype == DType::Bool) {
    if (text == "true") return 1;
    return text == "false" ? std::optional<uint64_t>(0) : std::nullopt;
  }
  if (dtype == DType::F64) return parse_float<double, uint64_t>(text);
  if (dtype == DType::F32) return parse_float<float, uint32_t>(text);
  if (!is_integer(dtype)) return std::nullopt;
  const int width = 8 * item_size(dtype);
  const char* end_of_text = text.data() + text.size();
  if (kind_of(dtype) == DTypeKind::Unsigned) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), end_of_text, value);
    if (error != std::errc() || end != end_of_text || (width < 64 && value >> width != 0)) return std::nullopt;
    return value;
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), end_of_text, value);
  const int64_t limit = width == 64 ? INT64_MAX : (int64_t{1} << (width - 1)) - 1;
  if (error != std::errc() || end != end_of_text || value > limit || value < -limit - 1) return std::nullopt;
  return width == 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

}  // namespace ferrule
