// The text form: round trip, errors with places, no crash on any text.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/error.h"
#include "program/program_text.h"
#include "program/verify.h"
#include "program/visit.h"
#include "sample.h"

namespace ferrule {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse_program(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Text, SampleHasEveryKindOfOperation) {
  std::set<OpKind> kinds;
  const Program program = testing::sample_program();
  for_each_op(program.body, [&](const Op& op) { kinds.insert(op.kind); });
  EXPECT_EQ(kinds.size(), static_cast<size_t>(OpKind::If) + 1) << print(program);
}

TEST(Text, RoundTrip) {
  const std::string text = print(testing::sample_program());
  EXPECT_EQ(print(parse_program(text)), text);
}

TEST(Text, EveryElementOperationRoundTrips) {
  for (int i = 0; i < element_op_count(); ++i) {
    const ElementOpInfo& row = info(static_cast<ElementOp>(i));
    ProgramBuilder b("p");
    const Expr n = testing::extent(b, "N");
    const bool floats =
        row.rule == DTypeRule::Float || row.rule == DTypeRule::Ldexp || row.rule == DTypeRule::FloatToI32;
    std::vector<ValueId> operands(static_cast<size_t>(row.arity),
                                  testing::array(b, "a", {n}, floats ? DType::F64 : DType::I32));
    if (row.rule == DTypeRule::Ldexp) operands[1] = testing::array(b, "k", {n}, DType::I32);
    b.result({ResultKind::Value, b.elementwise(row.op, operands)});
    const std::string text = print(b.finish());
    EXPECT_EQ(print(parse_program(text)), text);
  }
}

TEST(Text, ConstantsKeepTheirBits) {
  ProgramBuilder b("p");
  const uint64_t doubles[] = {0, 0x8000000000000000u, 0x7ff0000000000000u, 0x7ff8000000000001u, 0xfff8000000000000u,
                              1, 0x3fb999999999999au};
  for (const uint64_t bits : doubles) b.result({ResultKind::Value, b.constant(DType::F64, bits, false)});
  for (const uint64_t bits : {0x7fc00000u, 0xff800000u, 0x80000000u, 0x3dcccccdu, 1u})
    b.result({ResultKind::Value, b.constant(DType::F32, bits, false)});
  b.result({ResultKind::Value, b.constant(DType::I8, 0x80, false)});
  b.result({ResultKind::Value, b.constant(DType::I64, 0x8000000000000000u, true)});
  b.result({ResultKind::Value, b.constant(DType::U64, 0xffffffffffffffffu, false)});
  b.result({ResultKind::Value, b.constant(DType::Bool, 1, true)});
  const Program program = b.finish();
  const Program again = parse_program(print(program));
  ASSERT_EQ(program.body.ops.size(), again.body.ops.size());
  for (size_t i = 0; i < program.body.ops.size(); ++i) EXPECT_EQ(program.body.ops[i].bits, again.body.ops[i].bits) << i;
}

TEST(Text, ErrorsNameTheirPlace) {
  EXPECT_NE(message_of("").find("1:1: expected 'fr', got the end"), std::string::npos) << message_of("");
  EXPECT_NE(message_of("fr 2\n").find("only version 1"), std::string::npos);
  EXPECT_NE(message_of("fr 1 program p\nbody {\n  %1 = add %0, %0 : f64\n}").find("3:12: the value %0 is not defined"),
            std::string::npos);
  EXPECT_NE(message_of("fr 1 program p\nbody {\n  %0 = constant 1 : f65\n}").find("3:21: unknown dtype 'f65'"),
            std::string::npos);
  EXPECT_NE(
      message_of("fr 1 program p\nbody {\n  %0 = constant 256 : u8\n}").find("'256' is no constant of dtype uint8"),
      std::string::npos);
  EXPECT_NE(message_of("fr 1 program p\nbody {\n  %0 = size [N] : weak i64\n}").find("3:14: "), std::string::npos);
  EXPECT_NE(message_of("fr 1 program p\nbuffer a : f64[3] nowhere\n").find("2:8: unknown storage 'nowhere'"),
            std::string::npos);
  EXPECT_NE(message_of("fr 1 program p\nbody {\n").find("expected an operation"), std::string::npos);
}

TEST(Text, IllegalProgramsAreRefused) {
  const std::string text =
      "fr 1 program p\nbody {\n  %0 = constant 1 : i32\n  %1 = constant 1 : i64\n  %2 = add %0, %1 : i64\n}";
  EXPECT_NE(message_of(text).find("operands have the dtype"), std::string::npos) << message_of(text);
}

TEST(Text, CommentsAndBlanksDoNotMatter) {
  const Program program =
      parse_program("# one\nfr 1 # two\nprogram p body { %7 = constant true : b1 # three\n } result %7");
  EXPECT_EQ(print(program), "fr 1\nprogram p\nbody {\n  %0 = constant true : b1\n}\nresult %0\n");
}

// Any text gives an error or a program that the verifier accepts.
TEST(Text, MutationsNeverCrash) {
  const std::string text = print(testing::sample_program());
  std::vector<std::string> tokens;
  std::istringstream words(text);
  for (std::string word; words >> word;) tokens.push_back(word);
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  int legal = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string mutant = text;
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const size_t at = below(mutant.size());
      switch (below(4)) {
        case 0:
          mutant[at] = static_cast<char>(32 + below(95));
          break;
        case 1:
          mutant.erase(at, 1 + below(12));
          break;
        case 2:
          mutant.insert(at, " " + tokens[below(tokens.size())] + " ");
          break;
        default: {
          // A number becomes another one.
          const size_t digit = mutant.find_first_of("0123456789", at);
          if (digit != std::string::npos) mutant[digit] = static_cast<char>('0' + below(10));
          break;
        }
      }
      if (mutant.empty()) break;
    }
    try {
      verify(parse_program(mutant));
      ++legal;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::User) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(legal, 0);
  EXPECT_GT(refused, 1000);
}

TEST(Text, GoldenFilesAreInPrintedForm) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(FERRULE_SOURCE_DIR) + "/tests/golden")) {
    if (entry.path().extension() != ".fr") continue;
    ++files;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(print(parse_program(text.str())), text.str()) << entry.path();
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace ferrule
