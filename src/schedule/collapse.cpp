#include "schedule/collapse.h"

#include "loops/walk.h"

namespace ferrule::loops {
namespace {

class Collapser {
 public:
  explicit Collapser(Loops loops) : loops_(std::move(loops)) {}

  Loops run() {
    for_each_nest(loops_.body, [&](Nest& nest) { visit(nest); });
    return std::move(loops_);
  }

 private:
  bool can_merge(const Nest& nest, const Axis& outer, const Axis& inner) const {
    if (outer.kind != inner.kind || outer.descending != inner.descending) return false;
    for (const Instr& instr : nest.body) {
      if (instr.code == Code::Index && (instr.expr.uses(outer.variable) || instr.expr.uses(inner.variable)))
        return false;
    }
    bool fits = true;
    for_each_access(nest, [&](const Access& access, bool) {
      const Expr at = linear_address(loops_, access);
      const auto out = at.split(outer.variable), in = at.split(inner.variable);
      fits = fits && out && in && !out->first.uses(inner.variable) && out->first == in->first * inner.extent;
    });
    return fits;
  }

  void visit(Nest& nest) {
    for (size_t k = nest.axes.size(); k-- > 1;) {
      const Axis outer = nest.axes[k - 1];
      if (!can_merge(nest, outer, nest.axes[k])) continue;
      for_each_access(nest, [&](Access& access, bool) {
        // What does not move along either axis keeps its indices.
        const Expr at = linear_address(loops_, access);
        if (at.uses(outer.variable) || at.uses(nest.axes[k].variable)) {
          access.flat = at.substitute(outer.variable, 0);
          access.index.clear();
        }
      });
      nest.axes[k].extent = outer.extent * nest.axes[k].extent;
      nest.axes.erase(nest.axes.begin() + int64_t(k) - 1);
    }
  }

  Loops loops_;
};

}  // namespace

Loops collapse(Loops loops) { return Collapser(std::move(loops)).run(); }

}  // namespace ferrule::loops
