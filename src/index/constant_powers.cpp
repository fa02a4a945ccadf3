#include "index/constant_powers.h"

#include <algorithm>

#include "index/checked.h"

namespace ferrule {
namespace {

class ConstantPowers {
 public:
  void add(const Term& term) {
    std::vector<Factor> shape;
    std::vector<int64_t> offsets;
    for (const Factor& factor : term.monomial->factors) {
      shape.push_back(factor);
      if (!is_constant_power(factor.atom)) continue;
      int64_t offset = factor.atom.operand(1).node().constant;
      shape.back().atom.operands = std::make_shared<const std::vector<Expr>>(
          std::vector<Expr>{factor.atom.operand(0), factor.atom.operand(1) - Expr(offset)});
      offsets.push_back(offset);
    }
    std::sort(shape.begin(), shape.end(), [](const Factor& a, const Factor& b) { return compare(a.atom, b.atom) < 0; });
    // Offsets follow the order of `shape`: the base comes first in the order of Pow atoms and is unique.
    MonomialPtr key = make_monomial(std::move(shape));
    for (Group& group : groups_) {
      if (compare(*group.shape, *key) != 0) continue;
      group.members.push_back({term.coefficient, std::move(offsets)});
      return;
    }
    groups_.push_back({key, {{term.coefficient, std::move(offsets)}}});
  }

  std::vector<Term> build() const {
    std::vector<Term> terms;
    for (const Group& group : groups_) {
      if (Term term = join(group); term.coefficient != 0) terms.push_back(std::move(term));
    }
    return terms;
  }

 private:
  struct Member {
    int64_t coefficient;
    std::vector<int64_t> offsets;
  };
  struct Group {
    MonomialPtr shape;
    std::vector<Member> members;
  };

  static Term join(const Group& group) {
    std::vector<int64_t> bases;
    for (const Factor& factor : group.shape->factors) {
      if (is_constant_power(factor.atom)) bases.push_back(*factor.atom.operand(0).constant());
    }
    std::vector<int64_t> lowest = group.members[0].offsets;
    for (const Member& member : group.members) {
      for (size_t i = 0; i < lowest.size(); ++i) lowest[i] = std::min(lowest[i], member.offsets[i]);
    }
    int64_t total = 0;
    for (const Member& member : group.members) {
      int64_t coefficient = member.coefficient;
      for (size_t i = 0; i < lowest.size(); ++i) {
        int64_t scale = checked::power(bases[i], checked::subtract(member.offsets[i], lowest[i]));
        coefficient = checked::multiply(coefficient, scale);
      }
      total = checked::add(total, coefficient);
    }
    if (total == 0) return {};
    std::vector<Factor> factors;
    size_t next = 0;
    for (Factor factor : group.shape->factors) {
      if (is_constant_power(factor.atom)) {
        int64_t base = bases[next];
        int64_t offset = lowest[next++];
        for (; total % base == 0; total /= base) offset = checked::add(offset, 1);
        factor.atom.operands = std::make_shared<const std::vector<Expr>>(
            std::vector<Expr>{factor.atom.operand(0), factor.atom.operand(1) + Expr(offset)});
      }
      factors.push_back(std::move(factor));
    }
    std::sort(factors.begin(), factors.end(),
              [](const Factor& a, const Factor& b) { return compare(a.atom, b.atom) < 0; });
    return {total, make_monomial(std::move(factors))};
  }

  std::vector<Group> groups_;
};

}  // namespace

bool is_constant_power(const Atom& atom) {
  if (atom.kind != AtomKind::Pow) return false;
  auto base = atom.operand(0).constant();
  return base && checked::magnitude(*base) >= 2;
}

std::vector<Term> join_constant_powers(const std::vector<Term>& terms) {
  ConstantPowers powers;
  std::vector<Term> result;
  for (const Term& term : terms) {
    if (term.monomial->has_constant_power) {
      powers.add(term);
    } else {
      result.push_back(term);
    }
  }
  for (Term& term : powers.build()) result.push_back(std::move(term));
  return result;
}

}  // namespace ferrule
