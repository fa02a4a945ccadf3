#include "array/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace ferrule {
namespace {

using Kind = IndexPart::Kind;

// First element, number of elements and step of a slice of an axis, as Python's slice.indices() has them.
struct Range {
  int64_t first, count, step;
};

Range range_of(const IndexPart& part, int64_t extent) {
  const int64_t step = part.step.value_or(1);
  if (step == 0) throw user_error("The step of a slice is not zero.");
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? extent - 1 : extent;
  const auto clipped = [&](int64_t bound) { return std::clamp(bound < 0 ? bound + extent : bound, low, high); };
  const int64_t first = part.start.has_value() ? clipped(*part.start) : step < 0 ? high : low;
  const int64_t past = part.stop.has_value() ? clipped(*part.stop) : step < 0 ? low : high;
  if (step < 0) return {first, past < first ? (first - past - 1) / -std::max(step, -INT64_MAX) + 1 : 0, step};
  return {first, first < past ? (past - first - 1) / step + 1 : 0, step};
}

// Collects the axes of the view while it walks those of the array.
class Viewer {
 public:
  explicit Viewer(const Array& array) : from_(array), to_(array), data_(static_cast<char*>(array.data)) {
    to_.shape.clear();
    to_.byte_strides.clear();
  }

  void add(const IndexPart& part, size_t hidden_axes) {
    if (part.kind == Kind::NewAxis) return push(1, 0);
    if (part.kind == Kind::Ellipsis) {
      for (size_t i = 0; i < hidden_axes; ++i) keep();
      return;
    }
    const int64_t extent = from_.shape[axis_], stride = from_.byte_strides[axis_];
    if (part.kind == Kind::Integer) {
      const int64_t at = part.integer < 0 ? part.integer + extent : part.integer;
      if (at < 0 || at >= extent)
        throw user_error(
            fmt::format("Index {} is out of bounds for axis {} with size {}.", part.integer, axis_, extent),
            Builtin::Index);
      data_ += at * stride;
    } else {
      const Range range = range_of(part, extent);
      if (range.count > 0) data_ += range.first * stride;
      push(range.count, range.count > 1 ? stride * range.step : stride);
    }
    ++axis_;
  }

  Array finish() {
    while (axis_ < from_.shape.size()) keep();
    to_.data = data_;
    return std::move(to_);
  }

 private:
  void push(int64_t extent, int64_t stride) {
    to_.shape.push_back(extent);
    to_.byte_strides.push_back(stride);
  }
  void keep() {
    push(from_.shape[axis_], from_.byte_strides[axis_]);
    ++axis_;
  }

  const Array& from_;
  Array to_;
  char* data_;
  size_t axis_ = 0;
};

}  // namespace

Array view_of(const Array& array, const std::vector<IndexPart>& index) {
  size_t used = 0, ellipses = 0, fresh = 0;
  for (const IndexPart& part : index) {
    used += part.kind == Kind::Integer || part.kind == Kind::Slice;
    ellipses += part.kind == Kind::Ellipsis;
    fresh += part.kind == Kind::NewAxis;
  }
  if (used > array.shape.size())
    throw user_error(fmt::format("An array of {} axes was indexed with {} of them.", array.shape.size(), used),
                     Builtin::Index);
  if (ellipses > 1) throw user_error("An index has one ellipsis ('...') at most.", Builtin::Index);
  if (array.shape.size() + fresh > static_cast<size_t>(kMaxRank))
    throw user_error(fmt::format("An array has at most {} axes.", kMaxRank), Builtin::Index);
  Viewer viewer(array);
  for (const IndexPart& part : index) viewer.add(part, array.shape.size() - used);
  return viewer.finish();
}

Array transposed(const Array& array) {
  Array turned = array;
  std::reverse(turned.shape.begin(), turned.shape.end());
  std::reverse(turned.byte_strides.begin(), turned.byte_strides.end());
  return turned;
}

}  // namespace ferrule
