#include "schedule/order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loops/walk.h"

namespace ferrule::loops {
namespace {

// What an unknown extent or stride counts as when strides are compared; less for many axes, whose product must fit.
int64_t typical_extent(size_t rank) { return rank <= 6 ? 1000 : int64_t{1} << (56 / rank); }

class Orderer {
 public:
  explicit Orderer(Loops loops) : loops_(std::move(loops)), typical_(loops_.symbols.size(), 1) {}

  Loops run() {
    for_each_nest(loops_.body, [&](Nest& nest) { visit(nest); });
    return std::move(loops_);
  }

 private:
  // Elements by which memory moves along the axis, stores twice.
  double movement(const Nest& nest, const Axis& axis) const {
    double total = 0;
    for_each_access(nest, [&](const Access& access, bool written) {
      const auto split = linear_address(loops_, access).split(axis.variable);
      if (!split) return;
      total += std::fabs(double(split->first.evaluate(typical_))) * (written ? 2 : 1);
    });
    return total;
  }

  void visit(Nest& nest) {
    if (nest.order != Order::Free || nest.axes.size() < 2) return;
    std::fill(typical_.begin(), typical_.end(), typical_extent(nest.axes.size()));
    std::vector<double> key(nest.axes.size());
    for (size_t k = 0; k < key.size(); ++k) key[k] = movement(nest, nest.axes[k]);
    std::vector<size_t> by(nest.axes.size());
    std::iota(by.begin(), by.end(), 0);
    std::stable_sort(by.begin(), by.end(), [&](size_t a, size_t b) {
      if (nest.axes[a].kind != nest.axes[b].kind) return nest.axes[a].kind == AxisKind::Parallel;
      return key[a] > key[b];
    });
    std::vector<Axis> axes;
    axes.reserve(by.size());
    for (size_t k : by) axes.push_back(nest.axes[k]);
    nest.axes = std::move(axes);
  }

  Loops loops_;
  std::vector<int64_t> typical_;
};

}  // namespace

Loops order(Loops loops) { return Orderer(std::move(loops)).run(); }

}  // namespace ferrule::loops
