// Refutation of systems of linear inequalities over the integers by bounded elimination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferrule {

// sum of coefficients[i] * x[i] + constant >= 0.
struct LinearInequality {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

// True only if no integers satisfy all inequalities (each with `variables` coefficients). Every step divides by the
// common divisor and rounds the constant, which no integer solution loses. Gives up, with false, when elimination
// would make more than a few hundred inequalities; an inequality that leaves 64 bits is dropped.
bool refute(std::vector<LinearInequality> system, size_t variables);

}  // namespace ferrule
