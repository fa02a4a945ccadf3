// What is known about symbols while a program is captured or lowered, and what follows from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "index/expr.h"

namespace ferrule {

enum class SymbolKind : uint8_t {
  Extent,  // of an argument's axis; >= 0
  Stride,  // of an argument's axis, in elements; any sign
  Scalar,  // value of a Python int argument; any sign
  Loop,    // a loop variable
  Opaque,  // a value known only at run time (an element used as an index, a trip count)
};

struct Symbol {
  std::string name;  // unique in its table; as messages print it
  SymbolKind kind = SymbolKind::Opaque;
  bool nonnegative = false;
  bool operator==(const Symbol&) const = default;
};

// The symbols of one program, in order of creation.
class Symbols {
 public:
  // Adds a symbol; a taken name gets a numeric suffix.
  SymbolId add(std::string name, SymbolKind kind, bool nonnegative);
  const Symbol& operator[](SymbolId id) const { return symbols_[id]; }
  // Throws std::out_of_range for an unknown id.
  const Symbol& at(SymbolId id) const { return symbols_.at(id); }
  size_t size() const { return symbols_.size(); }
  std::optional<SymbolId> find(std::string_view name) const;
  // Valid while the table lives.
  SymbolNames names() const;

 private:
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string, SymbolId> ids_;
};

struct Known;  // the facts made ready for proofs; defined in index/known.h, private to index/

// Equalities, inequalities and the bounds of loop variables, in nested scopes. Proofs are sound and incomplete:
// `prove` answers true, false (its negation holds) or nullopt (not known). Products with non-negative factors, min,
// max, floordiv and mod by positive constants are understood.
//
// Proofs remember what they found until the facts change; one Facts object must not be used by two threads at once.
class Facts {
 public:
  // `symbols` must outlive the facts.
  explicit Facts(const Symbols* symbols) : symbols_(symbols) {}

  void push();
  // Forgets all since the matching push; without one it throws internal_error.
  void pop();

  // Records left == right: one side is replaced by the other from now on (`canonical`). Prefers to keep the older
  // symbol; keeps the equation as two inequalities where it cannot be solved for a symbol.
  void assume(const Condition& condition);
  // lo <= variable < hi, for a loop of positive step; the loop may not be empty inside its body.
  void assume_loop(SymbolId variable, const Expr& lo, const Expr& hi);

  // All recorded equalities applied.
  Expr canonical(const Expr& expr) const;
  // canonical(), and min, max, floordiv and mod decided where the facts decide them: i % N is i for 0 <= i < N,
  // N*M // M is N for M >= 1.
  Expr simplify(const Expr& expr) const;
  std::optional<bool> prove(const Condition& condition) const;
  bool prove_nonnegative(const Expr& expr) const { return prove({Relation::Le, Expr(0), expr}) == true; }
  bool prove_equal(const Expr& a, const Expr& b) const { return prove({Relation::Eq, a, b}) == true; }

  // The largest and the smallest value over the bounds of all loop variables in it, innermost first, as expressions
  // free of loop variables; nullopt where it is not monotonic in one of them. A remainder by a positive divisor counts
  // with its whole range, so that there the bound need not be attained.
  std::optional<Expr> upper_bound(const Expr& expr) const;
  std::optional<Expr> lower_bound(const Expr& expr) const;

 private:
  friend struct Known;
  struct Loop {
    SymbolId variable;
    Expr lo, hi;
  };
  struct Scope {
    size_t equalities, inequalities, others, loops;
  };
  void assume_zero(Expr expr);
  bool uses_loop_variable(const Expr& expr) const;
  Known& known() const;

  const Symbols* symbols_;
  std::vector<std::pair<SymbolId, Expr>> equalities_;
  std::vector<Expr> nonnegative_;  // each >= 0
  std::vector<Condition> other_;   // disequalities
  std::vector<Loop> loops_;
  std::vector<Scope> scopes_;
  mutable std::shared_ptr<Known> known_;  // null: the facts changed
};

}  // namespace ferrule
