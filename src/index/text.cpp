// Python-like and C++ text of expressions.
#include <fmt/format.h>

#include "index/node.h"

namespace ferrule {
namespace {

// How tightly a piece of text binds, loosest first.
enum class Level { Sum, Product, Unary, Power, Primary };

struct Piece {
  std::string text;
  Level level;
};

class Printer {
 public:
  Printer(const SymbolNames& name, bool cpp) : name_(name), cpp_(cpp) {}

  Piece print(const Expr& canonical) const {
    const Expr expr = with_mods(canonical);
    const ExprNode& node = expr.node();
    if (node.terms.empty()) return constant(node.constant);
    // A sum starts with a positive term if it has one.
    size_t first = 0;
    while (first < node.terms.size() && node.terms[first].coefficient < 0) ++first;
    if (first == node.terms.size()) {
      if (node.constant > 0) {
        std::string text = constant(node.constant).text;
        for (const Term& term : node.terms) append(term, &text);
        return {text, Level::Sum};
      }
      first = 0;
    }
    Piece piece = leading(node.terms[first]);
    if (node.terms.size() == 1 && node.constant == 0) return piece;
    std::string text = piece.text;
    for (size_t i = 0; i < node.terms.size(); ++i) {
      if (i != first) append(node.terms[i], &text);
    }
    if (node.constant != 0) {
      text += is_subtracted(node.constant) ? " - " : " + ";
      text += magnitude(node.constant);
    }
    return {text, Level::Sum};
  }

 private:
  // The least integer keeps its sign: its magnitude is no int64_t.
  static bool is_subtracted(int64_t value) { return value < 0 && value != INT64_MIN; }

  std::string magnitude(int64_t value) const {
    if (value == INT64_MIN) return cpp_ ? "(-9223372036854775807 - 1)" : "-9223372036854775808";
    return std::to_string(value < 0 ? -value : value);
  }

  Piece constant(int64_t value) const {
    if (is_subtracted(value)) return {fmt::format("-{}", magnitude(value)), Level::Unary};
    return {magnitude(value), value < 0 && !cpp_ ? Level::Unary : Level::Primary};
  }

  Piece leading(const Term& term) const {
    if (term.coefficient == 1) return print(*term.monomial);
    if (term.coefficient == -1)
      return {fmt::format("-{}", enclosed(print(*term.monomial), Level::Power)), Level::Unary};
    return {constant(term.coefficient).text + "*" + product(*term.monomial), Level::Product};
  }

  void append(const Term& term, std::string* text) const {
    *text += is_subtracted(term.coefficient) ? " - " : " + ";
    if (term.coefficient == 1 || term.coefficient == -1) {
      *text += enclosed(print(*term.monomial), Level::Product);
    } else {
      *text += magnitude(term.coefficient) + "*" + product(*term.monomial);
    }
  }

  Piece print(const Monomial& monomial) const {
    if (monomial.factors.size() == 1) return print(monomial.factors[0]);
    return {product(monomial), Level::Product};
  }

  // Factors that can stand after a `*`.
  std::string product(const Monomial& monomial) const {
    std::string text;
    for (const Factor& factor : monomial.factors) {
      if (!text.empty()) text += "*";
      text += enclosed(print(factor), Level::Unary);
    }
    return text;
  }

  Piece print(const Factor& factor) const {
    if (factor.exponent == 1) return print(factor.atom);
    return power(print(factor.atom), constant(factor.exponent));
  }

  Piece power(const Piece& base, const Piece& exponent) const {
    if (cpp_) return {fmt::format("fr_ipow({}, {})", base.text, exponent.text), Level::Primary};
    return {enclosed(base, Level::Primary) + "**" + enclosed(exponent, Level::Power), Level::Power};
  }

  Piece print(const Atom& atom) const {
    switch (atom.kind) {
      case AtomKind::Symbol:
        return {name_(atom.symbol), Level::Primary};
      case AtomKind::FloorDiv:
        return division(atom, "//", "fr_floordiv");
      case AtomKind::Mod:
        return division(atom, "%", "fr_mod");
      case AtomKind::Min:
        return call(cpp_ ? "fr_min" : "min", atom);
      case AtomKind::Max:
        return call(cpp_ ? "fr_max" : "max", atom);
      case AtomKind::Pow:
        return power(print(atom.operand(0)), print(atom.operand(1)));
    }
    return {};
  }

  Piece division(const Atom& atom, const char* op, const char* function) const {
    Piece left = print(atom.operand(0));
    Piece right = print(atom.operand(1));
    if (cpp_) return {fmt::format("{}({}, {})", function, left.text, right.text), Level::Primary};
    return {enclosed(left, Level::Unary) + op + enclosed(right, Level::Unary), Level::Product};
  }

  Piece call(const char* function, const Atom& atom) const {
    std::string text = print(atom.operand(0)).text;
    for (size_t i = 1; i < atom.operands->size(); ++i) {
      std::string next = print(atom.operand(i)).text;
      // The C++ helpers take two.
      text = cpp_ && i > 1 ? fmt::format("{}({}), {}", function, text, next) : fmt::format("{}, {}", text, next);
    }
    return {fmt::format("{}({})", function, text), Level::Primary};
  }

  static std::string enclosed(const Piece& piece, Level lowest) {
    return piece.level < lowest ? fmt::format("({})", piece.text) : piece.text;
  }

  const SymbolNames& name_;
  bool cpp_;
};

}  // namespace

std::string to_string(const Expr& expr, const SymbolNames& name) { return Printer(name, false).print(expr).text; }

std::string to_cpp(const Expr& expr, const SymbolNames& name) { return Printer(name, true).print(expr).text; }

}  // namespace ferrule
