// The transcendental functors as the evaluator sees them: compiled for plain x86-64, against libm. The promised errors
// are checked in tests/python/test_rt_math.py.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "ferrule/rt/reduce.h"
#include "ferrule/rt/vmath.h"

namespace {

// |got - want| in units in the last place of want.
template <class T>
double ulps(T got, long double want) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : INFINITY;
  if (std::isinf(got) || std::fabs(want) > std::numeric_limits<T>::max()) return T(want) == got ? 0 : INFINITY;
  const T size = std::fabs(T(want));
  return double(std::fabs(got - want) / (std::nextafter(size, T(INFINITY)) - size));
}

template <class T>
std::vector<T> arguments() {
  std::vector<T> x = {0, T(-0.0), 1, -1, 2, 0.5, T(0.1), 3, 10, -10, 100, 1e10, 1e30, INFINITY, -INFINITY, NAN};
  for (T v : {std::numeric_limits<T>::min(), std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max()}) {
    x.push_back(v);
    x.push_back(-v);
  }
  for (int i = 0; i < 400; ++i) x.push_back(T(std::sin(double(i)) * std::exp(i % 40 - 20.0)));
  return x;
}

template <class T>
class Math : public testing::Test {
 protected:
  template <class F, class G>
  void compare(const char* name, F ours, G reference) {
    for (T x : arguments<T>()) EXPECT_LE(ulps<T>(ours(x), reference((long double)x)), 4) << name << ' ' << x;
  }
};
using FloatTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Math, FloatTypes);

TYPED_TEST(Math, OneArgument) {
  using L = long double;
#define COMPARE(ours, reference) \
  this->compare(#ours, [](TypeParam x) { return fr::ours(x); }, [](L x) { return std::reference(x); })
  COMPARE(exp, exp);
  COMPARE(exp2, exp2);
  COMPARE(expm1, expm1);
  COMPARE(log, log);
  COMPARE(log2, log2);
  COMPARE(log10, log10);
  COMPARE(log1p, log1p);
  COMPARE(sin, sin);
  COMPARE(cos, cos);
  COMPARE(tan, tan);
  COMPARE(arcsin, asin);
  COMPARE(arccos, acos);
  COMPARE(arctan, atan);
  COMPARE(sinh, sinh);
  COMPARE(cosh, cosh);
  COMPARE(tanh, tanh);
  COMPARE(arcsinh, asinh);
  COMPARE(arccosh, acosh);
  COMPARE(arctanh, atanh);
  COMPARE(cbrt, cbrt);
#undef COMPARE
}

TYPED_TEST(Math, TwoArguments) {
  using T = TypeParam;
  const auto values = arguments<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i % 7; j < values.size(); j += 7) {
      const T x = values[i], y = values[j];
      const long double lx = x, ly = y;
      EXPECT_LE(ulps<T>(fr::power(x, y), std::pow(lx, ly)), 4) << x << " ** " << y;
      EXPECT_LE(ulps<T>(fr::arctan2(x, y), std::atan2(lx, ly)), 4) << x << ' ' << y;
      EXPECT_LE(ulps<T>(fr::hypot(x, y), std::hypot(lx, ly)), 4) << x << ' ' << y;
    }
  }
}

TYPED_TEST(Math, BoundedAnglesEqualInRange) {
  using T = TypeParam;
  for (int i = -3000; i < 3000; ++i) {
    const T x = T(i) * T(i) * T(i) * T(0.037);  // up to 1e9
    EXPECT_LE(ulps<T>(fr::bounded::sin(x), std::sin((long double)x)), 4) << x;
    EXPECT_LE(ulps<T>(fr::bounded::cos(x), std::cos((long double)x)), 4) << x;
  }
  EXPECT_TRUE(std::signbit(fr::bounded::sin(T(-0.0))));
}

TEST(Math, HugeArgumentsOfAngles) {
  const double hard = std::ldexp(6381956970095103.0, 797);  // the double nearest to a multiple of pi/2
  EXPECT_LE(ulps<double>(fr::cos(hard), std::cos((long double)hard)), 4);
  EXPECT_LE(ulps<double>(fr::tan(hard), std::tan((long double)hard)), 4);
  EXPECT_LE(ulps<double>(fr::sin(1e22), -0.8522008497671888017727L), 4);
  EXPECT_LE(ulps<double>(fr::sin(std::numeric_limits<double>::max()), 0.0049619547891840613L), 4);
}

TEST(Reduce, FormsAgree) {
  std::vector<double> x(5000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i)) * std::exp(double(i % 50) - 25);
  using Sum = fr::reduction::sum<double>;
  for (int64_t n : {0, 1, 5, 8, 33, 2047, 2048, 2049, 5000}) {
    const auto element = [&](int64_t i) { return x[size_t(i)]; };
    const double flat = fr::reduce<Sum>(n, element);
    EXPECT_EQ(flat, fr::reduce_outer<Sum>(n, element));
    double column = -1;
    fr::reduce_rows<Sum>(
        n, 1, [&](int64_t i, int64_t) { return x[size_t(i)]; }, [&](int64_t, double v) { column = v; });
    EXPECT_EQ(flat, column);
  }
}

TEST(Reduce, NothingGivesTheIdentity) {
  const auto never = [](int64_t) -> int64_t { return 99; };
  EXPECT_EQ(fr::reduce<fr::reduction::sum<int64_t>>(0, never), 0);
  EXPECT_EQ(fr::reduce<fr::reduction::prod<int64_t>>(0, never), 1);
  EXPECT_EQ(fr::reduce<fr::reduction::bit_and<int64_t>>(0, never), -1);
  EXPECT_FALSE(fr::reduce<fr::reduction::any<bool>>(0, [](int64_t) { return true; }));
  EXPECT_TRUE(fr::reduce<fr::reduction::all<bool>>(0, [](int64_t) { return false; }));
  EXPECT_FALSE(std::signbit(fr::reduce<fr::reduction::sum<double>>(1, [](int64_t) { return -0.0; })));
}

TEST(Reduce, LogicalReductionsStopEarly) {
  int64_t seen = 0;
  EXPECT_TRUE(fr::reduce<fr::reduction::any<bool>>(1 << 20, [&](int64_t i) { return seen = i, i == 3; }));
  EXPECT_LT(seen, 1000);
  EXPECT_FALSE(fr::reduce<fr::reduction::all<bool>>(1 << 20, [&](int64_t i) { return seen = i, i < 300; }));
  EXPECT_LT(seen, 1000);
}

TEST(Headers, IncludeNoStandardLibrary) {
  for (const auto& entry : std::filesystem::directory_iterator(FERRULE_SOURCE_DIR "/include/ferrule/rt")) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.rfind("#include", 0) != 0 || entry.path().filename() == "import.h") continue;
      EXPECT_TRUE(line.find("\"ferrule/") != std::string::npos || line == "#include <stdint.h>")
          << entry.path() << ": " << line;
    }
  }
}

}  // namespace
