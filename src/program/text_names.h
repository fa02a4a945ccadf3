// Words and names of the text form that its printer and its parser share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "program/program.h"

namespace ferrule {

// Letters, digits and underscores, no digit first.
bool is_identifier(std::string_view text);
// Whether a symbol of this name can stand in an expression: a path of identifiers with subscripts ("a.shape[0]") that
// is no function; others are written `$s<id>`.
bool is_plain_symbol(std::string_view name);
// The name if it is an identifier, else quoted.
std::string text_name(std::string_view name);
// In double quotes, with \", \\, \n and \xHH.
std::string text_string(std::string_view text);

std::string_view symbol_kind_word(SymbolKind kind);
std::optional<SymbolKind> symbol_kind_from_word(std::string_view word);
std::string_view symbol_source_word(uint8_t source);
std::optional<uint8_t> symbol_source_from_word(std::string_view word);
std::string_view layout_word(Layout layout);
std::optional<Layout> layout_from_word(std::string_view word);

}  // namespace ferrule
