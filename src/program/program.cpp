#include "program/program.h"

#include <algorithm>

namespace ferrule {

IndexMap IndexMap::identity(const std::vector<Expr>& shape) {
  IndexMap map{shape, {}};
  for (size_t i = 0; i < shape.size(); ++i) map.axes.push_back({0, {{static_cast<int>(i), 1}}});
  return map;
}

IndexMap IndexMap::then(const IndexMap& outer) const {
  IndexMap result{outer.shape, {}};
  result.axes.reserve(axes.size());
  for (const AxisMap& axis : axes) {
    AxisMap composed{axis.start, {}};
    for (const AxisTerm& term : axis.terms) {
      const AxisMap& inner = outer.axes[term.axis];
      composed.start = composed.start + term.step * inner.start;
      for (const AxisTerm& part : inner.terms) {
        const Expr step = term.step * part.step;
        auto at = std::lower_bound(composed.terms.begin(), composed.terms.end(), part.axis,
                                   [](const AxisTerm& t, int a) { return t.axis < a; });
        if (at != composed.terms.end() && at->axis == part.axis)
          at->step = at->step + step;
        else
          composed.terms.insert(at, {part.axis, step});
      }
    }
    std::erase_if(composed.terms, [](const AxisTerm& t) { return t.step.is_constant(0); });
    result.axes.push_back(std::move(composed));
  }
  return result;
}

bool IndexMap::is_identity(const std::vector<Expr>& source_shape) const {
  if (shape.size() != axes.size() || shape != source_shape) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const AxisMap& axis = axes[i];
    if (!axis.start.is_constant(0)) return false;
    if (axis.terms.empty() && shape[i].is_constant(1)) continue;
    if (axis.terms.size() != 1 || axis.terms[0].axis != static_cast<int>(i) || !axis.terms[0].step.is_constant(1))
      return false;
  }
  return true;
}

std::vector<Expr> values_of_check(const Op& op) {
  const bool index = op.code == FR_ERR_INDEX;
  // Nothing is known of the index of a flag: the site tells.
  if (!op.condition) return index ? std::vector<Expr>{-1, -1, -1} : std::vector<Expr>{};
  const Expr &left = op.condition->left, &right = op.condition->right;
  if (!index) return {left, right};
  // Of index < extent both are known; 0 <= index is about an index that may have been counted from the end.
  if (op.condition->relation == Relation::Lt) return {left, -1, right};
  return {right, -1, -1};
}

}  // namespace ferrule
