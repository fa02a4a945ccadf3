// The polynomial core: construction, order, addition and multiplication.
#include "index/expr.h"

#include <algorithm>
#include <array>

#include "index/checked.h"
#include "index/constant_powers.h"
#include "index/node.h"

namespace ferrule {
namespace {

size_t mix(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

std::shared_ptr<const ExprNode> make_node(int64_t constant, std::vector<Term> terms) {
  auto node = std::make_shared<ExprNode>();
  node->constant = constant;
  node->hash = mix(0x51ed27, static_cast<size_t>(constant));
  for (const Term& term : terms) {
    node->hash = mix(mix(node->hash, static_cast<size_t>(term.coefficient)), term.monomial->hash);
    node->mask |= term.monomial->mask;
  }
  node->terms = std::move(terms);
  return node;
}

constexpr int64_t kCachedLow = -16, kCachedHigh = 256;

std::shared_ptr<const ExprNode> constant_node(int64_t value) {
  static const auto cache = [] {
    std::array<std::shared_ptr<const ExprNode>, kCachedHigh - kCachedLow + 1> nodes;
    for (int64_t i = kCachedLow; i <= kCachedHigh; ++i) nodes[i - kCachedLow] = make_node(i, {});
    return nodes;
  }();
  if (value >= kCachedLow && value <= kCachedHigh) return cache[value - kCachedLow];
  return make_node(value, {});
}

size_t hash_of(const Atom& atom) {
  size_t hash = mix(static_cast<size_t>(atom.kind), atom.symbol);
  if (atom.operands) {
    for (const Expr& operand : *atom.operands) hash = mix(hash, operand.hash());
  }
  return hash;
}

uint64_t mask_of(const Atom& atom) {
  if (atom.kind == AtomKind::Symbol) return symbol_bit(atom.symbol);
  uint64_t mask = 0;
  for (const Expr& operand : *atom.operands) mask |= operand.node().mask;
  return mask;
}

bool comes_first(const Term& a, const Term& b) { return compare(*a.monomial, *b.monomial) < 0; }

// `terms` in order, without repeats and zeros.
Expr finish(int64_t constant, std::vector<Term> terms) {
  if (terms.empty()) return Expr(constant);
  if (std::any_of(terms.begin(), terms.end(), [](const Term& t) { return t.monomial->has_constant_power; })) {
    terms = join_constant_powers(terms);
    std::sort(terms.begin(), terms.end(), comes_first);
    if (terms.empty()) return Expr(constant);
  }
  return Expr(make_node(constant, std::move(terms)));
}

// a + k * b for k != 0.
Expr add_scaled(const Expr& a, int64_t k, const Expr& b) {
  const ExprNode& left = a.node();
  const ExprNode& right = b.node();
  int64_t constant = checked::add(left.constant, checked::multiply(k, right.constant));
  std::vector<Term> terms;
  terms.reserve(left.terms.size() + right.terms.size());
  auto i = left.terms.begin();
  auto j = right.terms.begin();
  while (i != left.terms.end() && j != right.terms.end()) {
    int order = compare(*i->monomial, *j->monomial);
    if (order < 0) {
      terms.push_back(*i++);
    } else if (order > 0) {
      terms.push_back({checked::multiply(k, j->coefficient), j->monomial});
      ++j;
    } else {
      int64_t coefficient = checked::add(i->coefficient, checked::multiply(k, j->coefficient));
      if (coefficient != 0) terms.push_back({coefficient, i->monomial});
      ++i;
      ++j;
    }
  }
  terms.insert(terms.end(), i, left.terms.end());
  for (; j != right.terms.end(); ++j) terms.push_back({checked::multiply(k, j->coefficient), j->monomial});
  return finish(constant, std::move(terms));
}

}  // namespace

Expr::Expr(int64_t constant) : node_(constant_node(constant)) {}

Expr Expr::symbol(SymbolId id) { return make_atom(Atom{AtomKind::Symbol, id, nullptr}); }

std::optional<int64_t> Expr::constant() const {
  if (!node_->terms.empty()) return std::nullopt;
  return node_->constant;
}

std::optional<SymbolId> Expr::as_symbol() const {
  const Atom* atom = as_atom(*this);
  if (!atom || atom->kind != AtomKind::Symbol) return std::nullopt;
  return atom->symbol;
}

bool Expr::operator==(const Expr& other) const { return compare(*this, other) == 0; }

size_t Expr::hash() const { return node_->hash; }

int Expr::compare(const Expr& left, const Expr& right) {
  const ExprNode& a = *left.node_;
  const ExprNode& b = *right.node_;
  if (&a == &b) return 0;
  size_t common = std::min(a.terms.size(), b.terms.size());
  for (size_t i = 0; i < common; ++i) {
    if (int order = ferrule::compare(*a.terms[i].monomial, *b.terms[i].monomial)) return order;
    if (a.terms[i].coefficient != b.terms[i].coefficient) {
      return a.terms[i].coefficient < b.terms[i].coefficient ? -1 : 1;
    }
  }
  if (a.terms.size() != b.terms.size()) return a.terms.size() < b.terms.size() ? 1 : -1;
  if (a.constant != b.constant) return a.constant < b.constant ? -1 : 1;
  return 0;
}

int compare(const Atom& a, const Atom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == AtomKind::Symbol) return a.symbol == b.symbol ? 0 : (a.symbol < b.symbol ? -1 : 1);
  if (a.operands == b.operands) return 0;
  size_t common = std::min(a.operands->size(), b.operands->size());
  for (size_t i = 0; i < common; ++i) {
    if (int order = Expr::compare(a.operand(i), b.operand(i))) return order;
  }
  if (a.operands->size() != b.operands->size()) return a.operands->size() < b.operands->size() ? -1 : 1;
  return 0;
}

int compare(const Monomial& a, const Monomial& b) {
  if (&a == &b) return 0;
  if (a.degree != b.degree) return a.degree > b.degree ? -1 : 1;
  size_t common = std::min(a.factors.size(), b.factors.size());
  for (size_t i = 0; i < common; ++i) {
    if (int order = compare(a.factors[i].atom, b.factors[i].atom)) return order;
    if (a.factors[i].exponent != b.factors[i].exponent) return a.factors[i].exponent > b.factors[i].exponent ? -1 : 1;
  }
  if (a.factors.size() != b.factors.size()) return a.factors.size() < b.factors.size() ? -1 : 1;
  return 0;
}

MonomialPtr make_monomial(std::vector<Factor> factors) {
  auto monomial = std::make_shared<Monomial>();
  for (const Factor& factor : factors) {
    monomial->degree = checked::add(monomial->degree, factor.exponent);
    monomial->hash = mix(mix(monomial->hash, hash_of(factor.atom)), static_cast<size_t>(factor.exponent));
    monomial->mask |= mask_of(factor.atom);
    monomial->has_power |= factor.atom.kind == AtomKind::Pow;
    monomial->has_constant_power |= is_constant_power(factor.atom);
  }
  monomial->factors = std::move(factors);
  return monomial;
}

Expr make_term(int64_t coefficient, const MonomialPtr& monomial) {
  if (!monomial || coefficient == 0) return Expr(coefficient);
  return finish(0, {{coefficient, monomial}});
}

Expr make_atom(Atom atom) {
  std::vector<Factor> factors;
  factors.push_back({std::move(atom), 1});
  return make_term(1, make_monomial(std::move(factors)));
}

Expr make_atom(AtomKind kind, std::vector<Expr> operands) {
  return make_atom(Atom{kind, 0, std::make_shared<const std::vector<Expr>>(std::move(operands))});
}

const Atom* as_atom(const Expr& expr) {
  const ExprNode& node = expr.node();
  if (node.constant != 0 || node.terms.size() != 1 || node.terms[0].coefficient != 1) return nullptr;
  const Monomial& monomial = *node.terms[0].monomial;
  if (monomial.factors.size() != 1 || monomial.factors[0].exponent != 1) return nullptr;
  return &monomial.factors[0].atom;
}

void Sum::add(int64_t constant) { constant_ = checked::add(constant_, constant); }

void Sum::add(int64_t coefficient, const MonomialPtr& monomial) {
  if (!monomial) return add(coefficient);
  if (coefficient != 0) terms_.push_back({coefficient, monomial});
}

void Sum::add(const Expr& expr, int64_t coefficient) {
  if (coefficient == 0) return;
  add(checked::multiply(coefficient, expr.node().constant));
  for (const Term& term : expr.node().terms) {
    terms_.push_back({checked::multiply(coefficient, term.coefficient), term.monomial});
  }
}

Expr Sum::build() {
  std::stable_sort(terms_.begin(), terms_.end(), comes_first);
  std::vector<Term> merged;
  merged.reserve(terms_.size());
  for (Term& term : terms_) {
    if (!merged.empty() && compare(*merged.back().monomial, *term.monomial) == 0) {
      merged.back().coefficient = checked::add(merged.back().coefficient, term.coefficient);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
  return finish(constant_, std::move(merged));
}

Expr operator+(const Expr& a, const Expr& b) {
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  return add_scaled(a, 1, b);
}

Expr operator-(const Expr& a, const Expr& b) {
  if (b.is_constant(0)) return a;
  return add_scaled(a, -1, b);
}

Expr operator-(const Expr& a) { return a * Expr(-1); }

Expr operator*(const Expr& a, const Expr& b) {
  auto scale = a.constant();
  if (!scale && !b.constant()) {
    Sum sum;
    sum.add(a, b.node().constant);
    for (const Term& right : b.node().terms) {
      sum.add(checked::multiply(right.coefficient, a.node().constant), right.monomial);
      for (const Term& left : a.node().terms) {
        sum.add(multiply(left.monomial, right.monomial), checked::multiply(left.coefficient, right.coefficient));
      }
    }
    return sum.build();
  }
  const Expr& other = scale ? b : a;
  int64_t k = scale ? *scale : *b.constant();
  if (k == 1) return other;
  if (k == 0) return Expr(0);
  return add_scaled(Expr(0), k, other);
}

Expr product(std::span<const Expr> factors) {
  Expr result(1);
  for (const Expr& factor : factors) result = result * factor;
  return result;
}

}  // namespace ferrule
