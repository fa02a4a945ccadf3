// Reads the text form character by character: words, names, numbers, bracketed lists. Every error names line and
// column.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace ferrule::text {

inline constexpr int kDeepest = 200;  // nested regions and parentheses; more would exhaust the stack

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Characters, words, names, numbers and size expressions.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

 protected:
  [[noreturn]] void fail(size_t at, std::string_view what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < std::min(at, text_.size()); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      if (text_[i] == '\n') ++line;
    }
    throw user_error(fmt::format("The program text is wrong at {}:{}: {}.", line, column, what));
  }
  [[noreturn]] void expected(std::string_view what) {
    skip();
    const std::string got = at_ < text_.size() ? fmt::format("'{}'", character_at(text_, at_)) : "the end";
    fail(at_, fmt::format("expected {}, got {}", what, got));
  }

  // Blanks and comments.
  void skip() {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '#'))
      at_ = text_[at_] == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
  }

  bool accept(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) expected(fmt::format("'{}'", token));
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  bool next_is(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }

  std::string_view peek_word() {
    skip();
    size_t end = at_;
    while (end < text_.size() && (is_word_start(text_[end]) || (end > at_ && is_digit(text_[end])))) ++end;
    return text_.substr(at_, end - at_);
  }
  bool accept_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  void expect_word(std::string_view word) {
    if (!accept_word(word)) expected(fmt::format("'{}'", word));
  }
  std::string_view word(std::string_view what) {
    const std::string_view result = peek_word();
    if (result.empty()) expected(what);
    at_ += result.size();
    return result;
  }

  template <class T>
  T integer() {
    skip();
    T value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(at_, "the integer does not fit");
    if (error != std::errc()) expected("an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::string string() {
    skip();
    const size_t start = at_;
    expect("\"");
    std::string result;
    for (;; ++at_) {
      if (at_ >= text_.size()) fail(start, "the string does not end");
      const char c = text_[at_];
      if (c == '"') break;
      if (c != '\\') {
        result += c;
        continue;
      }
      const char escape = ++at_ < text_.size() ? text_[at_] : '\0';
      if (escape == 'n') {
        result += '\n';
      } else if (escape == '"' || escape == '\\') {
        result += escape;
      } else if (escape == 'x') {
        result += static_cast<char>(hex_byte(text_.substr(at_ + 1, 2), at_ + 1));
        at_ += 2;
      } else {
        fail(at_, "an unknown escape in a string");
      }
    }
    ++at_;
    return result;
  }

  uint8_t hex_byte(std::string_view digits, size_t at) const {
    uint8_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2)
      fail(at, "expected two hexadecimal digits");
    return value;
  }

  std::string name(std::string_view what) {
    if (next_is('"')) return string();
    return std::string(word(what));
  }

  // Up to the next blank.
  std::string_view blank_delimited() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && !is_space(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  // A path with subscripts, or `$s<n>`.
  std::string_view symbol_name() {
    skip();
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '$') ++at_;
    while (at_ < text_.size() && (is_word_start(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    while (at_ < text_.size() && text_[at_] == '[') {
      const size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) fail(at_, "the subscript does not end");
      at_ = end + 1;
    }
    if (at_ == start) expected("a symbol");
    return text_.substr(start, at_ - start);
  }

  // The pieces between commas up to the bracket that closes the one just read, with their positions.
  struct Piece {
    std::string_view text;
    size_t at;
  };
  std::vector<Piece> pieces_until(char close) {
    std::vector<Piece> pieces;
    const size_t open = at_;
    size_t start = at_;
    int depth = 0;
    const auto add = [&] {
      std::string_view piece = text_.substr(start, at_ - start);
      while (!piece.empty() && is_space(piece.back())) piece.remove_suffix(1);
      size_t begin = start;
      while (!piece.empty() && is_space(piece.front())) {
        piece.remove_prefix(1);
        ++begin;
      }
      pieces.push_back({piece, begin});
    };
    for (;; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail(open, fmt::format("no '{}' ends what begins here", close));
      const char c = text_[at_];
      if (depth == 0 && c == close) break;
      if (c == '(' || c == '[') {
        if (++depth > kDeepest) fail(at_, "too many nested parentheses");
      } else if (c == ')' || c == ']') {
        if (--depth < 0) fail(at_, "an unmatched parenthesis");
      } else if (c == ',' && depth == 0) {
        add();
        start = at_ + 1;
      }
    }
    add();
    ++at_;
    if (pieces.size() == 1 && pieces[0].text.empty()) pieces.clear();
    return pieces;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace ferrule::text
