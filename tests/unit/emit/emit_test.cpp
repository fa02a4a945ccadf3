#include "emit/emit.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "emit/literal.h"
#include "emit/names.h"
#include "harness.h"
#include "programs.h"

namespace ferrule::testing {
namespace {

std::string body_of(const std::string& source) {
  const size_t begin = source.find("static void nest0");
  return source.substr(begin, source.find("static const int64_t x0") - begin);
}

TEST(Emit, AStencilReadsAsOneWouldWriteIt) {
  ProgramBuilder b("smooth");
  const Expr n = extent(b, "n"), m = extent(b, "m");
  const ValueId a = array(b, "a", {n, m}), out = array(b, "out", {n, m});
  const ValueId w = b.scalar_argument("w", DType::F64, true);
  assume_at_least(b, m, 2);
  const auto part = [&](ValueId x, int64_t left) { return slice(b, x, 1, left, m - 2); };
  b.store(part(out, 1), apply(b, Op::multiply, {w, apply(b, Op::add, {part(a, 0), part(a, 2)})}));
  const loops::Loops loops = compile_with(b.finish(), {});
  EXPECT_EQ(body_of(emit(loops, nullptr, {})),
            "static void nest0(const double* __restrict a, double* __restrict out, double w, int64_t n, int64_t m) {\n"
            "  for (int64_t i0 = 0; i0 < n; ++i0) {\n"
            "    auto* const p0 = a + (m*i0);\n"
            "    auto* const p1 = out + (m*i0);\n"
            "    for (int64_t i1 = 0; i1 < m - 2; ++i1) {\n"
            "      p1[i1 + 1] = fr::multiply(w, fr::add(p0[i1], p0[i1 + 2]));\n"
            "    }\n"
            "  }\n"
            "}\n"
            "\n"
            "static int32_t run(void* /*state*/, const FrCall* call) {\n"
            "  const int64_t n = call->symbols[0];\n"
            "  const int64_t m = call->symbols[1];\n"
            "  const double w = *static_cast<const double*>(call->args[2]);\n"
            "  double* const a = static_cast<double*>(call->args[0]);\n"
            "  double* const out = static_cast<double*>(call->args[1]);\n"
            "  nest0(a, out, w, n, m);\n"
            "  return FR_OK;\n"
            "}\n"
            "\n");
}

TEST(Emit, NamesOfTheProgramNeverClash) {
  ProgramBuilder b("class");
  const Expr n = extent(b, "for"), m = extent(b, "a.shape[1]");
  const ValueId a = array(b, "run", {n, m}), out = array(b, "r0", {n, m});
  b.scalar_argument("i0", DType::F64, true);
  b.store(out, apply(b, Op::negative, {slice(b, a, 0, n - 1, n, -1)}));
  Case c{"names", b.finish(), {}};
  c.calls.push_back({.pool = {bytes_of(numbers(6, 1)), bytes_of(numbers(6, 2))},
                     .arrays = {dense(0, {2, 3}), dense(1, {2, 3}), {}},
                     .scalars = {0, 0, 0}});
  std::vector<Case> cases;
  cases.push_back(std::move(c));
  expect_agree(cases, false);
}

TEST(Literal, EveryDTypeHasItsOwnType) {
  EXPECT_EQ(literal(DType::Bool, 1), "true");
  EXPECT_EQ(literal(DType::I8, 0xff), "int8_t(-1)");
  EXPECT_EQ(literal(DType::I64, uint64_t(INT64_MIN)), "INT64_MIN");
  EXPECT_EQ(literal(DType::U64, ~uint64_t(0)), "uint64_t(18446744073709551615u)");
  EXPECT_EQ(literal(DType::F64, std::bit_cast<uint64_t>(0.1)), "0.1");
  EXPECT_EQ(literal(DType::F64, std::bit_cast<uint64_t>(-0.0)), "-0.0");
  EXPECT_EQ(literal(DType::F64, std::bit_cast<uint64_t>(1e300)), "1e+300");
  EXPECT_EQ(literal(DType::F64, std::bit_cast<uint64_t>(-std::numeric_limits<double>::infinity())),
            "-fr::FloatFacts<double>::inf");
  EXPECT_EQ(literal(DType::F64, 0x7ff8000000000001), "fr::from_bits<double>(0x7ff8000000000001u)");
  EXPECT_EQ(literal(DType::F32, std::bit_cast<uint32_t>(2.0f)), "2.0f");
}

TEST(Literal, StringsAreEscaped) {
  EXPECT_EQ(quoted("a\"b\\c\n?"), "\"a\\\"b\\\\c\\012\\077\"");
  EXPECT_EQ(quoted("\xc3\xa9"
                   "1"),
            "\"\\303\\2511\"");
}

// Which header a program includes is told from the cost of its operations alone.
TEST(Headers, CheapFunctorsAreInOpsH) {
  const std::string root = std::string(FERRULE_SOURCE_DIR) + "/include/";
  std::string head, text;
  ASSERT_EQ(read_file(root + "ferrule/rt/ops.h", &head), 0);
  const std::string include = "#include \"";
  for (size_t at = head.find(include); at != std::string::npos; at = head.find(include, at + 1)) {
    const size_t begin = at + include.size();
    std::string part;
    ASSERT_EQ(read_file(root + head.substr(begin, head.find('"', begin) - begin), &part), 0);
    text += part;
  }
  for (int k = 0; k < element_op_count(); ++k) {
    const ElementOpInfo& op = info(ElementOp(k));
    if (op.cost >= 12) continue;
    EXPECT_NE(text.find(" " + std::string(op.name) + "("), std::string::npos) << op.name;
  }
}

TEST(Names, BecomeIdentifiers) {
  EXPECT_EQ(identifier("a.shape[0]"), "a_shape_0");
  EXPECT_EQ(identifier("<lambda>"), "lambda");
  EXPECT_EQ(identifier("2x"), "v2x");
  EXPECT_EQ(identifier(""), "v");
}

}  // namespace
}  // namespace ferrule::testing
