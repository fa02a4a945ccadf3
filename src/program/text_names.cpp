#include "program/text_names.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

namespace ferrule {
namespace {

template <class T>
using Word = std::pair<T, std::string_view>;

constexpr std::array kSymbolKinds = {
    Word<SymbolKind>{SymbolKind::Extent, "extent"}, Word<SymbolKind>{SymbolKind::Stride, "stride"},
    Word<SymbolKind>{SymbolKind::Scalar, "scalar"}, Word<SymbolKind>{SymbolKind::Loop, "loop"},
    Word<SymbolKind>{SymbolKind::Opaque, "opaque"}};
constexpr std::array kSources = {Word<uint8_t>{FR_SYMBOL_EXTENT, "extent"}, Word<uint8_t>{FR_SYMBOL_STRIDE, "stride"},
                                 Word<uint8_t>{FR_SYMBOL_SCALAR, "scalar"},
                                 Word<uint8_t>{FR_SYMBOL_EXPLICIT, "explicit"}};
constexpr std::array kLayouts = {Word<Layout>{Layout::C, "c"}, Word<Layout>{Layout::F, "f"},
                                 Word<Layout>{Layout::Inner, "inner"}, Word<Layout>{Layout::Any, "any"}};

template <class Table, class T>
std::string_view word_of(const Table& table, T value) {
  for (const auto& [known, word] : table)
    if (known == value) return word;
  return "unknown";
}

template <class T, class Table>
std::optional<T> from_word(const Table& table, std::string_view word) {
  for (const auto& [value, known] : table)
    if (known == word) return value;
  return std::nullopt;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (const char c : text)
    if (!is_letter(c) && !is_digit(c)) return false;
  return true;
}

bool is_plain_symbol(std::string_view name) {
  if (name == "min" || name == "max") return false;
  size_t at = 0;
  const auto identifier = [&] {
    if (at >= name.size() || !is_letter(name[at])) return false;
    while (at < name.size() && (is_letter(name[at]) || is_digit(name[at]))) ++at;
    return true;
  };
  if (!identifier()) return false;
  while (at < name.size() && name[at] == '.') {
    ++at;
    if (!identifier()) return false;
  }
  while (at < name.size() && name[at] == '[') {
    const size_t first = ++at;
    while (at < name.size() && is_digit(name[at])) ++at;
    if (at == first || at >= name.size() || name[at] != ']') return false;
    ++at;
  }
  return at == name.size();
}

std::string text_name(std::string_view name) { return is_identifier(name) ? std::string(name) : text_string(name); }

std::string text_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string_view symbol_kind_word(SymbolKind kind) { return word_of(kSymbolKinds, kind); }
std::optional<SymbolKind> symbol_kind_from_word(std::string_view word) {
  return from_word<SymbolKind>(kSymbolKinds, word);
}
std::string_view symbol_source_word(uint8_t source) { return word_of(kSources, source); }
std::optional<uint8_t> symbol_source_from_word(std::string_view word) { return from_word<uint8_t>(kSources, word); }
std::string_view layout_word(Layout layout) { return word_of(kLayouts, layout); }
std::optional<Layout> layout_from_word(std::string_view word) { return from_word<Layout>(kLayouts, word); }

}  // namespace ferrule
