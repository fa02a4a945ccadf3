#include "index/fourier_motzkin.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "index/checked.h"

namespace ferrule {
namespace {

constexpr size_t kMostInequalities = 200;

size_t hash_of(const std::vector<int64_t>& coefficients) {
  size_t hash = 0;
  for (int64_t c : coefficients) hash = (hash ^ static_cast<size_t>(c)) * 0x9e3779b97f4a7c15ull + 1;
  return hash;
}

void normalise(LinearInequality* row) {
  uint64_t common = 0;
  for (int64_t c : row->coefficients) {
    common = checked::gcd(common, c);
    if (common == 1) return;
  }
  if (common == 0 || common > static_cast<uint64_t>(INT64_MAX)) return;
  int64_t divisor = static_cast<int64_t>(common);
  for (int64_t& c : row->coefficients) c /= divisor;
  row->constant = checked::floordiv(row->constant, divisor);
}

// Inequalities without two of one left side, with the signs of every variable counted.
class System {
 public:
  explicit System(size_t variables) : lower_(variables, 0), upper_(variables, 0) {}

  // False if the row alone is a contradiction.
  bool insert(LinearInequality row) {
    if (std::all_of(row.coefficients.begin(), row.coefficients.end(), [](int64_t c) { return c == 0; })) {
      return row.constant >= 0;
    }
    normalise(&row);
    auto range = by_hash_.equal_range(hash_of(row.coefficients));
    for (auto at = range.first; at != range.second; ++at) {
      LinearInequality& other = rows_[at->second];
      if (other.coefficients != row.coefficients) continue;
      // The smaller constant implies the other.
      other.constant = std::min(other.constant, row.constant);
      return true;
    }
    count(row, 1);
    by_hash_.emplace(hash_of(row.coefficients), rows_.size());
    rows_.push_back(std::move(row));
    return true;
  }

  // Drops rows with a variable that is bounded on one side only, until there is none.
  void drop_one_sided() {
    bool dropped = true;
    while (dropped) {
      dropped = false;
      for (size_t v = 0; v < lower_.size(); ++v) {
        if ((lower_[v] == 0) == (upper_[v] == 0)) continue;
        take(v);
        dropped = true;
      }
    }
  }

  // The variable whose elimination makes the fewest rows; nullopt if none is left.
  std::optional<size_t> cheapest() const {
    std::optional<size_t> best;
    for (size_t v = 0; v < lower_.size(); ++v) {
      if (lower_[v] == 0) continue;
      if (!best || lower_[v] * upper_[v] < lower_[*best] * upper_[*best]) best = v;
    }
    return best;
  }

  size_t pairs(size_t variable) const { return static_cast<size_t>(lower_[variable] * upper_[variable]); }
  size_t size() const { return rows_.size(); }

  // Removes and returns all rows with the variable.
  std::vector<LinearInequality> take(size_t variable) {
    auto middle = std::stable_partition(rows_.begin(), rows_.end(),
                                        [&](const LinearInequality& row) { return row.coefficients[variable] == 0; });
    std::vector<LinearInequality> taken(std::make_move_iterator(middle), std::make_move_iterator(rows_.end()));
    rows_.erase(middle, rows_.end());
    for (const LinearInequality& row : taken) count(row, -1);
    by_hash_.clear();
    for (size_t i = 0; i < rows_.size(); ++i) by_hash_.emplace(hash_of(rows_[i].coefficients), i);
    return taken;
  }

 private:
  void count(const LinearInequality& row, int by) {
    for (size_t v = 0; v < lower_.size(); ++v) {
      if (row.coefficients[v] > 0) lower_[v] += by;
      if (row.coefficients[v] < 0) upper_[v] += by;
    }
  }

  std::vector<LinearInequality> rows_;
  std::unordered_multimap<size_t, size_t> by_hash_;
  std::vector<int> lower_, upper_;
};

// The combination of a lower and an upper bound of `variable` that is free of it; nullopt on overflow.
std::optional<LinearInequality> combine(const LinearInequality& lower, const LinearInequality& upper, size_t variable) {
  int64_t low = lower.coefficients[variable], high = upper.coefficients[variable];
  __int128 common = static_cast<__int128>(checked::gcd(checked::magnitude(low), high));
  __int128 p = low / common;
  __int128 q = -(high / common);
  LinearInequality row;
  row.coefficients.resize(lower.coefficients.size());
  auto join = [&](int64_t a, int64_t b, int64_t* out) {
    __int128 value = q * a + p * b;
    *out = static_cast<int64_t>(value);
    return *out == value;
  };
  for (size_t i = 0; i < row.coefficients.size(); ++i) {
    if (!join(lower.coefficients[i], upper.coefficients[i], &row.coefficients[i])) return std::nullopt;
  }
  if (!join(lower.constant, upper.constant, &row.constant)) return std::nullopt;
  return row;
}

}  // namespace

bool refute(std::vector<LinearInequality> rows, size_t variables) {
  System system(variables);
  for (LinearInequality& row : rows) {
    if (!system.insert(std::move(row))) return true;
  }
  system.drop_one_sided();
  while (auto variable = system.cheapest()) {
    if (system.size() + system.pairs(*variable) > kMostInequalities) return false;
    const std::vector<LinearInequality> bounds = system.take(*variable);
    for (const LinearInequality& lower : bounds) {
      if (lower.coefficients[*variable] < 0) continue;
      for (const LinearInequality& upper : bounds) {
        if (upper.coefficients[*variable] > 0) continue;
        auto row = combine(lower, upper, *variable);
        if (row && !system.insert(std::move(*row))) return true;
      }
    }
    system.drop_one_sided();
  }
  return false;
}

}  // namespace ferrule
