// Whether the iterations of a nest may run in some order although it reads memory that it writes.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "index/facts.h"
#include "loops/loops.h"
#include "loops/walk.h"

namespace ferrule::loops {

// Sign of the distance along an axis from the iteration that reads to the one that writes the same element.
enum class Sign : uint8_t { Zero, Positive, Negative, NotNegative, NotPositive };

// The order of one nest while its body grows: loads are added, stores stay.
class OldValues {
 public:
  // `facts` hold where the nest stands; nest, aliases and facts outlive this object.
  OldValues(const Nest& nest, const Aliases& aliases, Facts& facts);
  // Whether some order of the iterations lets these loads, and all that were accepted before, see what memory held
  // before the nest began. Where not, nothing is added: what reads them needs memory of its own.
  bool accept(const std::vector<Access>& loads);
  // Gives the nest that order and the directions of its axes: Free where no iteration writes what another one reads,
  // else Sequential.
  void apply(Nest& nest) const;

 private:
  using Distances = std::set<std::vector<Sign>>;
  // Whether each axis descends; nullopt where the distances contradict each other.
  std::optional<std::vector<bool>> directions(const Distances& open) const;

  std::vector<Axis> axes_;
  std::vector<Access> stores_;
  const Aliases& aliases_;
  Facts& facts_;
  Distances open_;  // those that are not zero everywhere
  std::vector<bool> descending_;
};

// Whether two accesses in iterations of the same axes never touch the same element.
bool never_meet(const Access& a, const Access& b, const std::vector<Axis>& axes, Facts& facts);

}  // namespace ferrule::loops
