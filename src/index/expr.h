// Integer expressions over symbols, kept canonical: sizes, strides, offsets, loop bounds and indices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrule {

// Index into the Symbols table of one Program.
using SymbolId = uint32_t;

enum class AtomKind : uint8_t {
  Symbol,
  FloorDiv,  // floor(a / b); b == 0 gives 0
  Mod,       // a - floor(a / b) * b; b == 0 gives 0
  Min,
  Max,
  Pow,  // a ** b, b >= 0
};

struct ExprNode;  // canonical polynomial over atoms; defined in index/node.h, private to index/

// An immutable value: a polynomial with int64 coefficients over atoms, in one canonical order, so that equal
// polynomials compare equal structurally. Copies are cheap. Arithmetic that overflows 64 bits throws. Powers with a
// symbolic exponent are rewritten as if their exponents are not negative (R * R**i is R**(i + 1)).
class Expr {
 public:
  Expr(int64_t constant = 0);  // NOLINT: integers are expressions
  static Expr symbol(SymbolId id);

  std::optional<int64_t> constant() const;
  bool is_constant(int64_t value) const { return constant() == value; }
  // The symbol, if the expression is just that.
  std::optional<SymbolId> as_symbol() const;
  // Every symbol in it, ascending, without repeats.
  std::vector<SymbolId> symbols() const;
  bool uses(SymbolId id) const;

  // The expression as coefficient * symbol + rest with neither part using the symbol; nullopt if it is not affine in
  // it.
  std::optional<std::pair<Expr, Expr>> split(SymbolId id) const;
  Expr substitute(SymbolId id, const Expr& value) const;
  // Replaces every symbol for which `value` gives an expression.
  Expr substitute(const std::function<std::optional<Expr>(SymbolId)>& value) const;
  // Value for the given symbol values, indexed by id; a symbol beyond the end throws internal_error.
  int64_t evaluate(std::span<const int64_t> values) const;

  // Structural, on the canonical form.
  bool operator==(const Expr& other) const;
  // A total, deterministic order (not by value).
  static int compare(const Expr& left, const Expr& right);
  // Equal expressions hash equal, in every process.
  size_t hash() const;

  const ExprNode& node() const { return *node_; }
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

 private:
  std::shared_ptr<const ExprNode> node_;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr floordiv(const Expr& a, const Expr& b);
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr pow(const Expr& base, const Expr& exponent);
// Product of all; 1 for none.
Expr product(std::span<const Expr> factors);

// Names of symbols for printing, by id.
using SymbolNames = std::function<std::string(SymbolId)>;
// "2*N + M//2 - 1"; parsed back by parse_expr.
std::string to_string(const Expr& expr, const SymbolNames& name);
// C++ over int64_t, with fr_floordiv, fr_mod, fr_min, fr_max, fr_ipow for the atoms.
std::string to_cpp(const Expr& expr, const SymbolNames& name);
// Throws user_error on bad syntax; `lookup` gives the id of a name or nullopt.
Expr parse_expr(std::string_view text, const std::function<std::optional<SymbolId>(std::string_view)>& lookup);
// Words of FrExpr (abi.h) with FR_X_SYMBOL operands mapped by `slot`.
std::vector<int64_t> to_postfix(const Expr& expr, const std::function<int64_t(SymbolId)>& slot);

enum class Relation : uint8_t { Eq, Ne, Lt, Le };

// left `relation` right over the integers.
struct Condition {
  Relation relation = Relation::Eq;
  Expr left, right;

  bool operator==(const Condition&) const = default;
};

Condition negate(const Condition& condition);
bool evaluate(const Condition& condition, std::span<const int64_t> values);
std::string to_string(const Condition& condition, const SymbolNames& name);
std::vector<int64_t> to_postfix(const Condition& condition, const std::function<int64_t(SymbolId)>& slot);

}  // namespace ferrule

template <>
struct std::hash<ferrule::Expr> {
  size_t operator()(const ferrule::Expr& expr) const { return expr.hash(); }
};
