// A recursive-descent parser of the text that to_string writes; operators bind as in Python.
#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "base/utf8.h"
#include "index/checked.h"
#include "index/expr.h"

namespace ferrule {
namespace {

class Parser {
 public:
  using Lookup = std::function<std::optional<SymbolId>(std::string_view)>;
  Parser(std::string_view text, const Lookup& lookup) : text_(text), lookup_(lookup) {}

  Expr parse() {
    Expr result = sum();
    skip_blanks();
    if (at_ != text_.size()) fail("an operator or the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    std::string got = at_ < text_.size() ? fmt::format("'{}'", character_at(text_, at_)) : "the end";
    throw user_error(fmt::format("The size expression '{}' has {} at column {}, where {} was expected.", text_, got,
                                 at_ + 1, expected));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool starts_with(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
  }

  bool accept(std::string_view token) {
    if (!starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }

  Expr sum() {
    Expr result = term();
    for (;;) {
      if (accept("+")) {
        result = result + term();
      } else if (accept("-")) {
        result = result - term();
      } else {
        return result;
      }
    }
  }

  Expr term() {
    Expr result = unary();
    for (;;) {
      if (accept("//")) {
        result = floordiv(result, unary());
      } else if (accept("%")) {
        result = mod(result, unary());
      } else if (!starts_with("**") && accept("*")) {
        result = result * unary();
      } else {
        return result;
      }
    }
  }

  Expr unary() {
    if (accept("+")) return unary();
    if (!accept("-")) return power();
    skip_blanks();
    if (at_ >= text_.size() || !is_digit(text_[at_])) return -unary();
    // The least integer has no positive counterpart.
    uint64_t value = digits();
    if (value == uint64_t{1} << 63 && !starts_with("**")) return Expr(INT64_MIN);
    return -raised(literal(value));
  }

  Expr power() { return raised(primary()); }

  Expr raised(const Expr& base) {
    if (!accept("**")) return base;
    return pow(base, unary());
  }

  Expr primary() {
    skip_blanks();
    if (accept("(")) {
      Expr result = sum();
      expect(")");
      return result;
    }
    if (at_ < text_.size() && is_digit(text_[at_])) return literal(digits());
    std::string_view word = name();
    if ((word == "min" || word == "max") && accept("(")) {
      Expr result = sum();
      while (accept(",")) result = word == "min" ? min(result, sum()) : max(result, sum());
      expect(")");
      return result;
    }
    auto id = lookup_(word);
    if (!id) throw user_error(fmt::format("The size expression '{}' uses the unknown symbol '{}'.", text_, word));
    return Expr::symbol(*id);
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 128;
  }

  uint64_t digits() {
    uint64_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      uint64_t digit = static_cast<uint64_t>(text_[at_] - '0');
      if (__builtin_mul_overflow(value, uint64_t{10}, &value) || __builtin_add_overflow(value, digit, &value)) {
        checked::overflow();
      }
    }
    return value;
  }

  static Expr literal(uint64_t value) {
    if (value > static_cast<uint64_t>(INT64_MAX)) checked::overflow();
    return Expr(static_cast<int64_t>(value));
  }

  // An identifier with attributes and constant subscripts: `a.shape[0]`.
  std::string_view name() {
    size_t start = at_;
    if (at_ >= text_.size() || !is_name_start(text_[at_])) fail("a number, a symbol, 'min', 'max' or '('");
    while (at_ < text_.size() && (is_name_start(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    while (at_ < text_.size() && text_[at_] == '[') {
      size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) fail("a subscript that ends in ']'");
      at_ = end + 1;
    }
    return text_.substr(start, at_ - start);
  }

  std::string_view text_;
  const Lookup& lookup_;
  size_t at_ = 0;
};

}  // namespace

Expr parse_expr(std::string_view text, const std::function<std::optional<SymbolId>(std::string_view)>& lookup) {
  return Parser(text, lookup).parse();
}

}  // namespace ferrule
