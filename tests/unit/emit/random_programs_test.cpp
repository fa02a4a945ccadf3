// Random programs over a few overlapping windows: loads, stores, reductions and loops in any order must give the
// evaluator's memory. FERRULE_FUZZ=long runs 200 of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string_view>

#include "harness.h"
#include "programs.h"

namespace ferrule::testing {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed), b_("random" + std::to_string(seed)) {}

  Case run() {
    n_ = extent(b_, "n"), m_ = extent(b_, "m");
    assume_at_least(b_, n_, 2);
    assume_at_least(b_, m_, 2);
    arrays_ = {array(b_, "x", {n_, m_}), array(b_, "y", {n_, m_}, DType::F64, pick_one(2) ? Layout::F : Layout::C)};
    statements(4 + pick_one(5), 0);
    b_.result({.value = apply(b_, Op::add, {value(2), window()})});
    b_.result({.value = b_.reduce(ReduceOp::sum, value(1), {0, 1}, std::nullopt)});
    b_.set_returns_tuple(true);
    const bool fortran = b_.argument(1).layout == Layout::F;
    Case result{"random program", b_.finish(), {}};
    result.name = result.program.name;
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{7, 9}, {2, 5}, {3, 3}}) {
      const size_t count = size_t(rows * columns);
      ArrayArg y = dense(1, {rows, columns});
      if (fortran) y.strides = {1, rows};
      result.calls.push_back({.pool = {bytes_of(numbers(count, 1)), bytes_of(numbers(count, 2))},
                              .arrays = {dense(0, {rows, columns}), y}});
    }
    return result;
  }

 private:
  int pick_one(int count) { return int(random_() % uint32_t(count)); }

  // A view of (n - 2, m - 2) elements somewhere in x or y, perhaps mirrored.
  ValueId window() {
    ValueId v = arrays_[pick_one(int(arrays_.size()))];
    for (int axis = 0; axis < 2; ++axis) {
      const Expr size = axis == 0 ? n_ : m_;
      const Expr at = pick_one(3);
      v = pick_one(6) == 0 ? slice(b_, v, axis, size - 1 - at, size - 2, -1) : slice(b_, v, axis, at, size - 2);
    }
    return v;
  }

  ValueId value(int depth) {
    const int choice = depth == 0 ? pick_one(2) : pick_one(9);
    switch (choice) {
      case 0:
        return b_.load(window());
      case 1:
        return values_.empty() ? b_.load(window()) : values_[pick_one(int(values_.size()))];
      case 2:
        return apply(b_, Op::multiply, {value(depth - 1), real(b_, 0.25)});
      case 3: {
        const ValueId sum = b_.reduce(ReduceOp::sum, value(depth - 1), {0}, std::nullopt);
        return apply(b_, Op::add, {apply(b_, Op::multiply, {sum, real(b_, 0.01)}), value(depth - 1)});
      }
      case 4: {
        const ValueId largest =
            b_.reduce(ReduceOp::sum, apply(b_, Op::absolute, {value(depth - 1)}), {1}, std::nullopt);
        return apply(b_, Op::minimum, {value(depth - 1), expand(b_, largest, 1)});
      }
      case 5:
        return apply(b_, Op::sqrt, {apply(b_, Op::absolute, {value(depth - 1)})});
      case 6:
        return apply(b_, Op::select,
                     {apply(b_, Op::greater, {value(depth - 1), real(b_, 0)}), value(depth - 1), value(depth - 1)});
      default:
        return apply(b_, choice == 7 ? Op::add : Op::subtract, {value(depth - 1), value(depth - 1)});
    }
  }

  void statements(int count, int depth) {
    const size_t outside = values_.size();
    for (int k = 0; k < count; ++k) {
      const int choice = pick_one(depth < 2 ? 6 : 5);
      if (choice < 2) {
        values_.push_back(value(2));
      } else if (choice < 5) {
        b_.store(window(), value(2));
      } else {
        const SymbolId t = b_.symbols().add("t", SymbolKind::Loop, true);
        b_.facts().push();
        b_.facts().assume_loop(t, 0, 3);
        b_.open_region({});
        statements(3, depth + 1);
        Region body = b_.close_region({});
        b_.facts().pop();
        b_.for_loop(t, 0, 3, 1, {}, std::move(body));
      }
    }
    if (depth > 0) values_.resize(outside);
  }

  std::mt19937 random_;
  ProgramBuilder b_;
  Expr n_, m_;
  std::vector<ValueId> arrays_, values_;
};

TEST(RandomPrograms, AgreeWithTheEvaluator) {
  const char* fuzz = std::getenv("FERRULE_FUZZ");
  const uint32_t batches = fuzz != nullptr && std::string_view(fuzz) == "long" ? 40 : 1;
  for (uint32_t batch = 0; batch < batches; ++batch) {
    std::vector<Case> cases;
    for (uint32_t seed = 1; seed <= 5; ++seed) cases.push_back(Generator(5 * batch + seed).run());
    expect_agree(cases, false);
  }
}

}  // namespace
}  // namespace ferrule::testing
