// The parts of the text form that declarations and operations share: size expressions, types, references to what is
// known.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "program/program.h"
#include "program/scanner.h"

namespace ferrule::text {

class Reader : public Scanner {
 public:
  using Scanner::Scanner;

 protected:
  SymbolId symbol_reference() {
    skip();
    const size_t start = at_;
    const std::string_view text = symbol_name();
    const auto found = symbols_.find(text);
    if (found == symbols_.end()) fail(start, fmt::format("unknown symbol '{}'", text));
    return found->second;
  }

  Expr expression(const Piece& piece, int indices) {
    const auto count = static_cast<SymbolId>(program_.symbols.size());
    const auto lookup = [&](std::string_view text) -> std::optional<SymbolId> {
      if (const auto found = symbols_.find(text); found != symbols_.end()) return found->second;
      if (text.size() < 2 || text.size() > 4 || text[0] != '$') return std::nullopt;
      int index = 0;
      const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), index);
      if (error != std::errc() || end != text.data() + text.size() || index < 0 || index >= indices)
        return std::nullopt;
      return count + static_cast<SymbolId>(index);
    };
    try {
      return parse_expr(piece.text, lookup);
    } catch (const Error& error) {
      std::string message = error.what();
      if (!message.empty() && message.back() == '.') message.pop_back();
      fail(piece.at, message);
    }
  }

  std::vector<Expr> expressions(int indices = 0) {
    expect("[");
    std::vector<Expr> result;
    for (const Piece& piece : pieces_until(']')) result.push_back(expression(piece, indices));
    return result;
  }

  Expr single_expression() {
    skip();
    const size_t start = at_;
    std::vector<Expr> list = expressions();
    if (list.size() != 1) fail(start, "expected one expression");
    return list[0];
  }

  Condition condition() {
    expect("(");
    const size_t start = at_;
    const std::vector<Piece> pieces = pieces_until(')');
    if (pieces.size() != 1) fail(start, "expected one condition");
    const Piece& piece = pieces[0];
    static constexpr std::pair<std::string_view, Relation> kRelations[] = {
        {"==", Relation::Eq}, {"!=", Relation::Ne}, {"<=", Relation::Le}, {"<", Relation::Lt}};
    for (const auto& [token, relation] : kRelations) {
      const size_t found = piece.text.find(token);
      if (found == std::string_view::npos) continue;
      const Expr left = expression({piece.text.substr(0, found), piece.at}, 0);
      const size_t right = found + token.size();
      return {relation, left, expression({piece.text.substr(right), piece.at + right}, 0)};
    }
    fail(piece.at, "expected a comparison");
  }

  IndexMap index_map(const std::vector<Expr>& shape) {
    skip();
    const size_t start = at_;
    const int rank = static_cast<int>(shape.size());
    const auto count = static_cast<SymbolId>(program_.symbols.size());
    IndexMap map{shape, {}};
    for (Expr rest : expressions(rank)) {
      AxisMap axis;
      for (int i = 0; i < rank; ++i) {
        const SymbolId index = count + static_cast<SymbolId>(i);
        if (!rest.uses(index)) continue;
        const auto parts = rest.split(index);
        bool affine = parts.has_value();
        for (int j = 0; affine && j < rank; ++j) affine = !parts->first.uses(count + static_cast<SymbolId>(j));
        if (!affine) fail(start, "an index of a map is not affine in '$0', '$1', ...");
        axis.terms.push_back({i, parts->first});
        rest = parts->second;
      }
      axis.start = rest;
      map.axes.push_back(std::move(axis));
    }
    return map;
  }

  DType dtype() {
    skip();
    const size_t start = at_;
    const std::string_view text = word("a dtype");
    const auto found = dtype_from_short_name(text);
    if (!found) fail(start, fmt::format("unknown dtype '{}'", text));
    return *found;
  }

  BufferId buffer_reference() {
    skip();
    const size_t start = at_;
    const std::string text = name("a buffer");
    const auto found = buffers_.find(text);
    if (found == buffers_.end()) fail(start, fmt::format("unknown buffer '{}'", text));
    return found->second;
  }

  ValueType type() {
    ValueType t;
    if (accept_word("view")) {
      t.kind = ValueKind::View;
      t.dtype = dtype();
      t.shape = expressions();
      t.buffer = buffer_reference();
      t.map = index_map(t.shape);
      return t;
    }
    t.weak = accept_word("weak");
    t.dtype = dtype();
    if (!t.weak && at_ < text_.size() && text_[at_] == '[') {
      t.kind = ValueKind::Array;
      t.shape = expressions();
    }
    return t;
  }

  uint32_t value_number() {
    expect("%");
    return integer<uint32_t>();
  }

  ValueId reference() {
    skip();
    const size_t start = at_;
    const uint32_t number = value_number();
    const auto found = values_.find(number);
    if (found == values_.end()) fail(start, fmt::format("the value %{} is not defined before its use", number));
    return found->second;
  }

  std::vector<ValueId> references() {
    std::vector<ValueId> ids;
    if (!next_is('%')) return ids;
    do ids.push_back(reference());
    while (accept(","));
    return ids;
  }

  ValueId define(uint32_t number, size_t start, ValueType type) {
    const auto id = static_cast<ValueId>(program_.values.size());
    if (!values_.emplace(number, id).second) fail(start, fmt::format("the value %{} is defined twice", number));
    program_.values.push_back(std::move(type));
    return id;
  }

  ValueId typed_definition() {
    skip();
    const size_t start = at_;
    const uint32_t number = value_number();
    expect(":");
    ValueType t = type();
    return define(number, start, std::move(t));
  }

  std::vector<ValueId> typed_definitions() {
    std::vector<ValueId> ids;
    do ids.push_back(typed_definition());
    while (accept(","));
    return ids;
  }

  Program program_;
  std::map<std::string, SymbolId, std::less<>> symbols_;
  std::map<std::string, BufferId> buffers_;
  std::unordered_map<uint32_t, ValueId> values_;
};

}  // namespace ferrule::text
