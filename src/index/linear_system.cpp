#include "index/linear_system.h"

#include <algorithm>

#include "index/fourier_motzkin.h"

namespace ferrule {
namespace {

constexpr size_t kMostMonomials = 32;
constexpr size_t kMostRows = 80;
constexpr int kRounds = 4;
constexpr int64_t kHighestDegree = 4;

bool has_monomial(const Expr& expr, const Monomial& monomial) {
  return std::any_of(expr.node().terms.begin(), expr.node().terms.end(),
                     [&](const Term& term) { return compare(*term.monomial, monomial) == 0; });
}

}  // namespace

LinearSystem::LinearSystem(std::vector<Expr> facts, const Expr& goal)
    : facts_(std::move(facts)), used_(facts_.size(), false) {
  add(goal);
}

bool LinearSystem::concerns(const Expr& fact) const {
  return std::any_of(fact.node().terms.begin(), fact.node().terms.end(),
                     [&](const Term& term) { return index_.contains(term.monomial); });
}

void LinearSystem::add(const Expr& row) {
  if (rows_.size() >= kMostRows || monomials_.size() + row.node().terms.size() > kMostMonomials) return;
  if (row.constant() || !present_.insert(row).second) return;
  rows_.push_back(row);
  for (const Term& term : row.node().terms) {
    if (index_.emplace(term.monomial, monomials_.size()).second) monomials_.push_back(term.monomial);
  }
}

void LinearSystem::add_products(const MonomialPtr& monomial,
                                const std::function<bool(const Monomial&)>& is_nonnegative) {
  if (monomial->degree < 2 || monomial->degree > kHighestDegree) return;
  for (size_t i = 0; i < monomial->factors.size(); ++i) {
    const Factor& factor = monomial->factors[i];
    MonomialPtr single = make_monomial({{factor.atom, 1}});
    auto rest = divide(*monomial, *single);
    if (!rest || !*rest) continue;
    const auto scale_facts = [&](const MonomialPtr& met, const MonomialPtr& scale) {
      if (!is_nonnegative(*scale)) return;
      for (const Expr& fact : facts_) {
        if (fact.node().terms.size() <= 4 && has_monomial(fact, *met)) add(fact * make_term(1, scale));
      }
    };
    scale_facts(single, *rest);
    if ((*rest)->degree > 1) scale_facts(*rest, single);
  }
}

void LinearSystem::close(const std::function<bool(const Monomial&)>& is_nonnegative,
                         const std::function<std::vector<Expr>(const Atom&)>& facts_of) {
  std::vector<Atom> seen;
  size_t next = 0;
  for (int round = 0; round < kRounds; ++round) {
    size_t end = monomials_.size();
    for (; next < end; ++next) {
      // By value: rows added below may move the vector.
      const MonomialPtr monomial = monomials_[next];
      if (is_nonnegative(*monomial)) add(make_term(1, monomial));
      for (const Factor& factor : monomial->factors) {
        if (factor.atom.kind == AtomKind::Symbol) continue;
        if (std::any_of(seen.begin(), seen.end(), [&](const Atom& a) { return compare(a, factor.atom) == 0; }))
          continue;
        seen.push_back(factor.atom);
        for (Expr& fact : facts_of(factor.atom)) {
          facts_.push_back(std::move(fact));
          used_.push_back(false);
        }
      }
    }
    for (size_t i = 0; i < facts_.size(); ++i) {
      if (used_[i] || !concerns(facts_[i])) continue;
      used_[i] = true;
      add(facts_[i]);
    }
    for (size_t i = 0; i < end; ++i) {
      const MonomialPtr monomial = monomials_[i];
      add_products(monomial, is_nonnegative);
    }
    if (monomials_.size() == end) break;
  }
}

bool LinearSystem::refute() const {
  std::vector<LinearInequality> system;
  for (const Expr& row : rows_) {
    LinearInequality inequality{std::vector<int64_t>(monomials_.size(), 0), row.node().constant};
    for (const Term& term : row.node().terms) inequality.coefficients[index_.at(term.monomial)] = term.coefficient;
    system.push_back(std::move(inequality));
  }
  return ferrule::refute(std::move(system), monomials_.size());
}

}  // namespace ferrule
