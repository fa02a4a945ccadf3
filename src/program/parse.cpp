// The reading half of the text form: one pass, every error with its line and column.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "program/program_text.h"
#include "program/text_names.h"
#include "program/verify.h"

namespace ferrule {
namespace {

constexpr int kDeepest = 200;  // nested regions and parentheses; more would exhaust the stack

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

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
    const std::string got = at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 1)) : "the end";
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

class Parser : public Scanner {
 public:
  using Scanner::Scanner;

  Program run() {
    expect_word("fr");
    if (integer<int>() != 1) fail(at_, "only version 1 of the text form is known");
    expect_word("program");
    program_.name = name("the program's name");
    program_.bounds_check = false;
    while (!at_end()) item();
    if (!has_body_) fail(at_, "the program has no body");
    for (const MayBe& entry : may_be_) {
      const auto found = buffers_.find(entry.name);
      if (found == buffers_.end()) fail(entry.at, fmt::format("unknown buffer '{}'", entry.name));
      program_.buffers[entry.carried].may_be.push_back(found->second);
    }
    return std::move(program_);
  }

 private:
  void item() {
    const size_t start = at_;
    const std::string_view what = word("a declaration");
    if (has_body_ && what != "result") fail(start, "only results may follow the body");
    if (what == "option") return option();
    if (what == "symbol") return symbol();
    if (what == "source") return source();
    if (what == "buffer") return buffer();
    if (what == "array") return array_argument();
    if (what == "scalar") return scalar_argument();
    if (what == "static") return static_argument();
    if (what == "guard") return guard();
    if (what == "body") {
      expect("{");
      operations(program_.body);
      expect("}");
      has_body_ = true;
      return;
    }
    if (what == "result") return result();
    fail(start, fmt::format("unknown declaration '{}'", what));
  }

  void option() {
    const size_t start = at_;
    const std::string_view what = word("an option");
    if (what == "bounds_check")
      program_.bounds_check = true;
    else if (what == "arguments_may_alias")
      program_.arguments_may_alias = true;
    else if (what == "returns_tuple")
      program_.returns_tuple = true;
    else
      fail(start, fmt::format("unknown option '{}'", what));
  }

  void symbol() {
    const size_t start = at_;
    const std::string text(symbol_name());
    const std::string full = next_is('"') ? string() : text;
    expect(":");
    const auto kind = symbol_kind_from_word(word("the kind of a symbol"));
    if (!kind) fail(start, "unknown kind of symbol");
    const bool nonnegative = accept_word("nonnegative");
    if (symbols_.contains(text) || program_.symbols.find(full))
      fail(start, fmt::format("the symbol '{}' is defined twice", full));
    symbols_[text] = program_.symbols.add(full, *kind, nonnegative);
  }

  SymbolId symbol_reference() {
    skip();
    const size_t start = at_;
    const std::string_view text = symbol_name();
    const auto found = symbols_.find(text);
    if (found == symbols_.end()) fail(start, fmt::format("unknown symbol '{}'", text));
    return found->second;
  }

  void source() {
    SymbolSource source;
    source.symbol = symbol_reference();
    expect("=");
    const size_t start = at_;
    const auto kind = symbol_source_from_word(word("the source of a symbol"));
    if (!kind) fail(start, "unknown source of a symbol");
    source.source = *kind;
    source.argument = integer<int>();
    source.axis = integer<int>();
    expect("*");
    source.coefficient = integer<int64_t>();
    expect("+");
    source.offset = integer<int64_t>();
    program_.sources.push_back(source);
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

  void buffer() {
    skip();
    const size_t start = at_;
    Buffer b;
    b.name = name("the buffer's name");
    expect(":");
    b.dtype = dtype();
    b.shape = expressions();
    const std::string_view storage = word("the storage of a buffer");
    if (storage == "argument") {
      b.storage = Storage::Argument;
      b.argument = integer<int>();
    } else if (storage == "constant") {
      b.storage = Storage::Constant;
    } else if (storage == "transient") {
      b.storage = Storage::Transient;
    } else if (storage == "carried") {
      b.storage = Storage::Carried;
    } else if (storage == "alias") {
      b.storage = Storage::Alias;
      b.base = buffer_reference();
      b.offset = single_expression();
    } else {
      fail(start, fmt::format("unknown storage '{}'", storage));
    }
    if (accept_word("strides")) b.strides = expressions();
    if (b.storage == Storage::Carried) {
      expect_word("may_be");
      expect("(");
      while (!next_is(')')) {
        skip();
        const size_t name_at = at_;
        may_be_.push_back({static_cast<BufferId>(program_.buffers.size()), name("a buffer"), name_at});
        if (!accept(",")) break;
      }
      expect(")");
    }
    if (b.storage == Storage::Constant) {
      expect_word("bytes");
      skip();
      const size_t at = at_ + 1;
      const std::string digits = string();
      for (size_t i = 0; i < digits.size(); i += 2)
        b.bytes.push_back(hex_byte(std::string_view(digits).substr(i, 2), at + i));
    }
    if (!buffers_.emplace(b.name, static_cast<BufferId>(program_.buffers.size())).second)
      fail(start, fmt::format("the buffer '{}' is defined twice", b.name));
    program_.buffers.push_back(std::move(b));
  }

  void array_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Array;
    const size_t start = at_;
    a.value = typed_definition();
    const ValueType& t = program_.values[a.value];
    if (t.kind != ValueKind::View) fail(start, "an array argument is a view");
    a.dtype = t.dtype;
    a.buffer = t.buffer;
    expect_word("layout");
    const size_t layout_at = at_;
    const auto layout = layout_from_word(word("a layout"));
    if (!layout) fail(layout_at, "unknown layout");
    a.layout = *layout;
    if (a.layout == Layout::Inner) a.inner_axis = integer<int>();
    a.read = accept_word("read");
    a.written = accept_word("written");
    a.hidden = accept_word("hidden");
    finish_argument(std::move(a));
  }

  void scalar_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Scalar;
    const size_t start = at_;
    a.value = typed_definition();
    const ValueType& t = program_.values[a.value];
    if (t.kind != ValueKind::Scalar) fail(start, "a scalar argument is a scalar");
    a.dtype = t.dtype;
    a.weak = t.weak;
    if (accept_word("symbol")) a.symbol = symbol_reference();
    finish_argument(std::move(a));
  }

  void static_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Static;
    a.static_text = string();
    finish_argument(std::move(a));
  }

  void finish_argument(Argument a) {
    a.keyword_only = accept_word("keyword_only");
    if (accept_word("default")) a.default_text = string();
    program_.arguments.push_back(std::move(a));
  }

  void guard() {
    Guard guard;
    guard.condition = condition();
    guard.text = string();
    guard.compares_sources = accept_word("compares_sources");
    program_.guards.push_back(std::move(guard));
  }

  void result() {
    if (accept_word("argument")) return program_.results.push_back({ResultKind::Argument, kNone, integer<int>()});
    if (accept_word("none")) return program_.results.push_back({ResultKind::None});
    program_.results.push_back({ResultKind::Value, reference()});
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

  void operations(Region& region) {
    if (++depth_ > kDeepest) fail(at_, "too many nested regions");
    if (accept_word("params")) region.params = typed_definitions();
    while (!next_is('}')) {
      if (accept_word("yield")) {
        region.yields = references();
        break;
      }
      region.ops.push_back(operation());
    }
    --depth_;
  }

  Op operation() {
    skip();
    const size_t start = at_;
    if (next_is('%')) return operation_with_result();
    const std::string_view what = word("an operation");
    if (what == "symbolize") {
      Op op{.kind = OpKind::Symbolize};
      op.symbol = symbol_reference();
      expect("=");
      op.operands = {reference()};
      return op;
    }
    if (what == "store") {
      Op op{.kind = OpKind::Store};
      op.operands = references();
      return op;
    }
    if (what == "check") {
      Op op{.kind = OpKind::Check};
      test(op);
      expect_word("code");
      op.code = integer<int>();
      return op;
    }
    if (what == "for") return for_loop();
    if (what == "while") {
      Op op{.kind = OpKind::While};
      op.operands = parenthesised_references();
      two_regions(op, "do");
      return op;
    }
    if (what == "if") {
      Op op{.kind = OpKind::If};
      test(op);
      two_regions(op, "else");
      return op;
    }
    fail(start, fmt::format("unknown operation '{}'", what));
  }

  void test(Op& op) {
    if (next_is('('))
      op.condition = condition();
    else
      op.operands = {reference()};
  }

  std::vector<ValueId> parenthesised_references() {
    expect("(");
    std::vector<ValueId> ids = references();
    expect(")");
    return ids;
  }

  Op for_loop() {
    Op op{.kind = OpKind::For};
    op.symbol = symbol_reference();
    expect("=");
    skip();
    const size_t start = at_;
    const std::vector<Expr> range = expressions();
    if (range.size() != 3) fail(start, "expected [lo, hi, step]");
    op.lo = range[0];
    op.hi = range[1];
    op.step = range[2];
    op.operands = parenthesised_references();
    expect("{");
    op.regions.resize(1);
    operations(op.regions[0]);
    expect("}");
    if (accept("->")) op.results = typed_definitions();
    return op;
  }

  void two_regions(Op& op, std::string_view between) {
    op.regions.resize(2);
    expect("{");
    operations(op.regions[0]);
    expect("}");
    expect_word(between);
    expect("{");
    operations(op.regions[1]);
    expect("}");
    if (accept("->")) op.results = typed_definitions();
  }

  Op operation_with_result() {
    const size_t start = at_;
    const uint32_t number = value_number();
    expect("=");
    skip();
    const size_t what_at = at_;
    const std::string_view what = word("an operation");
    Op op;
    std::string_view constant;
    size_t constant_at = 0;
    bool has_map = false;
    if (what == "constant") {
      skip();
      constant_at = at_;
      constant = blank_delimited();
    } else if (what == "size") {
      op.kind = OpKind::Size;
      op.expr = single_expression();
    } else if (what == "cast") {
      op.kind = OpKind::Cast;
      op.operands = {reference()};
    } else if (what == "iota") {
      op.kind = OpKind::Iota;
      op.axes = {integer<int>()};
      has_map = true;
    } else if (what == "fill") {
      op.kind = OpKind::Fill;
      op.operands = {reference()};
      has_map = true;
    } else if (what == "remap") {
      return remap(number, start);
    } else if (what == "view") {
      op.kind = OpKind::View;
      op.operands = references();
    } else if (what == "load") {
      op.kind = OpKind::Load;
      op.operands = {reference()};
    } else if (what == "alloc") {
      op.kind = OpKind::Alloc;
      op.buffer = buffer_reference();
    } else if (what == "reduce") {
      op.kind = OpKind::Reduce;
      const size_t reduce_at = at_;
      const auto reduce_op = reduce_op_from_name(word("a reduction"));
      if (!reduce_op) fail(reduce_at, "unknown reduction");
      op.reduce_op = *reduce_op;
      op.operands = {reference()};
      expect("(");
      do op.axes.push_back(integer<int>());
      while (accept(","));
      expect(")");
    } else if (const auto element_op = element_op_from_name(what)) {
      op.kind = OpKind::Elementwise;
      op.element_op = *element_op;
      op.operands = references();
    } else {
      fail(what_at, fmt::format("unknown operation '{}'", what));
    }
    expect(":");
    ValueType t = type();
    if (op.kind == OpKind::Constant || op.kind == OpKind::Cast || op.kind == OpKind::Reduce || op.kind == OpKind::Alloc)
      op.dtype = t.dtype;
    if (op.kind == OpKind::Constant) {
      const auto bits = parse_constant(t.dtype, constant);
      if (!bits) fail(constant_at, fmt::format("'{}' is no constant of dtype {}", constant, name_of(t.dtype)));
      op.bits = *bits;
    }
    if (has_map) op.map.shape = t.shape;
    op.results = {define(number, start, std::move(t))};
    return op;
  }

  // Its map is over the result's indices, whose number the type tells: the type is read first.
  Op remap(uint32_t number, size_t start) {
    Op op{.kind = OpKind::Remap, .operands = {reference()}};
    const size_t map_at = at_;
    expect("[");
    pieces_until(']');
    expect(":");
    ValueType t = type();
    const size_t after = at_;
    at_ = map_at;
    op.map = index_map(t.shape);
    at_ = after;
    op.results = {define(number, start, std::move(t))};
    return op;
  }

  // A carried buffer may stand for one that comes later in the text.
  struct MayBe {
    BufferId carried;
    std::string name;
    size_t at;
  };

  Program program_;
  std::vector<MayBe> may_be_;
  std::map<std::string, SymbolId, std::less<>> symbols_;
  std::map<std::string, BufferId> buffers_;
  std::unordered_map<uint32_t, ValueId> values_;
  bool has_body_ = false;
  int depth_ = 0;
};

}  // namespace

Program parse_program(std::string_view text) {
  Program program = Parser(text).run();
  try {
    verify(program);
  } catch (const Error& error) {
    throw user_error(fmt::format("The program text is not a legal program. {}", error.what()));
  }
  return program;
}

}  // namespace ferrule
