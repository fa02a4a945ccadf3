// Facts made ready for proofs: equalities resolved, everything canonical, and what proofs found so far.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "index/facts.h"

namespace ferrule {

struct Known {
  struct Loop {
    SymbolId variable;
    Expr lo, hi;
  };

  explicit Known(const Facts& facts);
  Expr canonical(const Expr& expr) const;

  const Symbols& symbols;
  std::unordered_map<SymbolId, Expr> replaced;  // by expressions free of replaced symbols
  uint64_t replaced_mask = 0;
  std::vector<Expr> nonnegative;
  std::vector<Expr> nonzero;
  std::vector<Loop> loops;             // outermost first
  std::vector<SymbolId> only_bounded;  // loop variables that equalities took out of `loops`
  // Memo of proofs of `expression >= 0`: kProved, or the deepest search that failed.
  static constexpr int kProved = 1 << 20;
  std::unordered_map<Expr, int> memo;
};

}  // namespace ferrule
