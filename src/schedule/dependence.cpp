#include "schedule/dependence.h"

#include <algorithm>
#include <numeric>

namespace ferrule::loops {
namespace {

Sign flipped(Sign sign) {
  switch (sign) {
    case Sign::Positive:
      return Sign::Negative;
    case Sign::Negative:
      return Sign::Positive;
    case Sign::NotNegative:
      return Sign::NotPositive;
    case Sign::NotPositive:
      return Sign::NotNegative;
    case Sign::Zero:
      break;
  }
  return Sign::Zero;
}

std::optional<Sign> sign_of(const Expr& distance, const Facts& facts) {
  if (facts.prove_equal(distance, 0)) return Sign::Zero;
  if (facts.prove({Relation::Lt, 0, distance}) == true) return Sign::Positive;
  if (facts.prove({Relation::Lt, distance, 0}) == true) return Sign::Negative;
  if (facts.prove({Relation::Le, 0, distance}) == true) return Sign::NotNegative;
  if (facts.prove({Relation::Le, distance, 0}) == true) return Sign::NotPositive;
  return std::nullopt;
}

bool uses_axis(const Expr& expr, const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    if (expr.uses(axis.variable)) return true;
  }
  return false;
}

struct Scope {
  Facts& facts;
  explicit Scope(Facts& f) : facts(f) { facts.push(); }
  ~Scope() { facts.pop(); }
};

// Distances along all axes for a load and a store of one buffer: nullopt unknown; empty: they never meet.
std::optional<std::vector<Sign>> distances(const Access& load, const Access& store, const std::vector<Axis>& axes,
                                           Facts& facts) {
  if (never_meet(load, store, axes, facts)) return std::vector<Sign>{};
  std::vector<Sign> result(axes.size(), Sign::Zero);
  std::vector<bool> seen(axes.size(), false);
  for (size_t a = 0; a < store.index.size(); ++a) {
    const Expr difference = load.index[a] - store.index[a];
    if (uses_axis(difference, axes)) return std::nullopt;
    int found = -1;
    for (size_t k = 0; k < axes.size(); ++k) {
      if (!store.index[a].uses(axes[k].variable)) continue;
      if (found >= 0 || seen[k]) return std::nullopt;
      found = int(k);
    }
    const std::optional<Sign> sign = sign_of(difference, facts);
    if (!sign) return std::nullopt;
    if (found < 0) {
      if (*sign != Sign::Zero) return std::nullopt;
      continue;
    }
    const auto split = store.index[a].split(axes[found].variable);
    const std::optional<int64_t> coefficient = split ? split->first.constant() : std::nullopt;
    if (!coefficient || *coefficient == 0) return std::nullopt;
    seen[found] = true;
    result[found] = *coefficient > 0 ? *sign : flipped(*sign);
  }
  // An axis that the store does not move along writes the same element again and again.
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!seen[k]) return std::nullopt;
  }
  return result;
}

}  // namespace

bool never_meet(const Access& a, const Access& b, const std::vector<Axis>& axes, Facts& facts) {
  const Scope scope(facts);
  for (const Axis& axis : axes) facts.assume_loop(axis.variable, 0, axis.extent);
  for (size_t k = 0; k < a.index.size(); ++k) {
    const Expr &x = a.index[k], &y = b.index[k];
    // Multiples of one number with different remainders.
    int64_t divisor = 0;
    bool constant = true;
    for (const Axis& axis : axes) {
      for (const Expr* index : {&x, &y}) {
        const auto split = index->split(axis.variable);
        const std::optional<int64_t> step = split ? split->first.constant() : std::nullopt;
        constant = constant && step;
        if (step) divisor = std::gcd(divisor, *step);
      }
    }
    if (constant && divisor > 1) {
      const auto zero = [&](SymbolId id) {
        for (const Axis& axis : axes) {
          if (axis.variable == id) return std::optional<Expr>(Expr(0));
        }
        return std::optional<Expr>();
      };
      const std::optional<int64_t> offset = (x.substitute(zero) - y.substitute(zero)).constant();
      if (offset && *offset % divisor != 0) return true;
    }
    if (!uses_axis(x, axes) && !uses_axis(y, axes) && facts.prove({Relation::Ne, x, y}) == true) return true;
    const std::optional<Expr> low_x = facts.lower_bound(x), high_x = facts.upper_bound(x);
    const std::optional<Expr> low_y = facts.lower_bound(y), high_y = facts.upper_bound(y);
    if (high_x && low_y && facts.prove({Relation::Lt, *high_x, *low_y}) == true) return true;
    if (high_y && low_x && facts.prove({Relation::Lt, *high_y, *low_x}) == true) return true;
  }
  return false;
}

OldValues::OldValues(const Nest& nest, const Aliases& aliases, Facts& facts)
    : axes_(nest.axes), aliases_(aliases), facts_(facts), descending_(nest.axes.size(), false) {
  for (const Instr& instr : nest.body) {
    if (instr.code == Code::Store) stores_.push_back(instr.access);
  }
}

bool OldValues::accept(const std::vector<Access>& loads) {
  if (axes_.empty()) return true;  // one iteration, which loads before it stores
  Distances more;
  for (const Access& store : stores_) {
    for (const Access& load : loads) {
      if (!aliases_.may_alias(load.buffer, store.buffer)) continue;
      if (load.buffer != store.buffer) return false;
      if (load == store) continue;
      std::optional<std::vector<Sign>> signs = distances(load, store, axes_, facts_);
      if (!signs) return false;
      const bool zero = std::all_of(signs->begin(), signs->end(), [](Sign sign) { return sign == Sign::Zero; });
      if (!zero) more.insert(std::move(*signs));
    }
  }
  if (more.empty()) return true;
  more.insert(open_.begin(), open_.end());
  std::optional<std::vector<bool>> descending = directions(more);
  if (!descending) return false;
  open_ = std::move(more);
  descending_ = std::move(*descending);
  return true;
}

std::optional<std::vector<bool>> OldValues::directions(const Distances& all) const {
  std::vector<bool> result;
  std::vector<std::vector<Sign>> open(all.begin(), all.end());
  for (size_t k = 0; k < axes_.size(); ++k) {
    bool up = false, down = false;
    std::vector<std::vector<Sign>> left;
    for (std::vector<Sign>& signs : open) {
      up = up || signs[k] == Sign::Positive || signs[k] == Sign::NotNegative;
      down = down || signs[k] == Sign::Negative || signs[k] == Sign::NotPositive;
      if (signs[k] != Sign::Positive && signs[k] != Sign::Negative) left.push_back(std::move(signs));
    }
    if (up && down) return std::nullopt;
    result.push_back(down);
    open = std::move(left);
  }
  return result;
}

void OldValues::apply(Nest& nest) const {
  if (axes_.empty()) return;
  nest.order = open_.empty() ? Order::Free : Order::Sequential;
  for (size_t k = 0; k < nest.axes.size(); ++k) nest.axes[k].descending = descending_[k];
}

}  // namespace ferrule::loops
