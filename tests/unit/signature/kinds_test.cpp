#include "signature/kinds.h"

#include <gtest/gtest.h>

#include "refused.h"

namespace ferrule {
namespace {

Record record(int64_t bytes, std::vector<RecordField> fields) { return {bytes, std::move(fields), "{}"}; }

Record point() { return record(16, {{"x", 0, DType::F64, 1}, {"n", 8, DType::I32, 2}}); }

Signature with(SignatureArgument argument) {
  Signature s;
  s.name = "f";
  s.arguments = {std::move(argument)};
  return s;
}

SignatureArgument structure(Record of) {
  return {.name = "p", .kind = SignatureKind::Record, .dtype = DType::Record, .record = std::move(of)};
}

TEST(Record, IsAlignedAsCLaysItOut) {
  EXPECT_EQ(alignment_of(point()), 8);
  EXPECT_EQ(alignment_of(record(9, {{"a", 0, DType::U8, 1}, {"b", 1, DType::F64, 1}})), 1);    // packed
  EXPECT_EQ(alignment_of(record(12, {{"a", 0, DType::F64, 1}, {"b", 8, DType::I32, 1}})), 1);  // no tail
  EXPECT_EQ(alignment_of(record(16, {{"a", 0, DType::C128, 1}})), 8);
  EXPECT_EQ(alignment_of(record(6, {{"a", 0, DType::U8, 2}, {"b", 2, DType::BF16, 2}})), 2);
}

TEST(Kinds, RefuseStructsThatContradictThemselves) {
  EXPECT_EQ(refused(with(structure({}))),
            "The signature of 'f': the struct 'p': a struct has fields; give a structured dtype.");
  EXPECT_EQ(refused(with(structure(record(8, {{"x", 4, DType::F64, 1}})))),
            "The signature of 'f': the struct 'p': the field 'x' does not lie within the 8 bytes of the struct.");
  EXPECT_EQ(refused(with(structure(record(8, {{"x", 0, DType::I32, 3}})))),
            "The signature of 'f': the struct 'p': the field 'x' does not lie within the 8 bytes of the struct.");
  EXPECT_EQ(refused(with(structure(record(8, {{"x", 0, DType::I32, 1}, {"x", 4, DType::I32, 1}})))),
            "The signature of 'f': the struct 'p': the field 'x' comes twice.");
  EXPECT_EQ(refused(with(structure(record(8, {{"x", 0, DType::Object, 1}})))),
            "The signature of 'f': the struct 'p': the field 'x' is no number; structs hold numbers alone.");
}

TEST(Kinds, StringsAndPointersBringTheirLength) {
  Signature s;
  s.name = "f";
  s.arguments = {{.name = "s", .kind = SignatureKind::String}, {.name = "p", .kind = SignatureKind::Pointers}};
  const Signature made = complete(s);
  EXPECT_EQ(made.run.parameters, (std::vector<std::string>{"s", "s.length", "p", "p.length"}));
  EXPECT_EQ(length_parameter(made, "s.length"), &made.arguments[0]);
  EXPECT_EQ(length_parameter(made, "s.size"), nullptr);
  EXPECT_EQ(length_parameter(made, ".length"), nullptr);
}

TEST(Kinds, CallbacksBringTheSizesOfTheirArrays) {
  SignatureArgument c{.name = "c", .kind = SignatureKind::Callback};
  c.parameters = {{.name = "x", .shape = {"N"}}};
  EXPECT_TRUE(refused(with(c)).starts_with("The signature of 'f': nothing tells the symbol 'N': "));
}

TEST(Kinds, RoundTripAsJson) {
  Signature s;
  s.name = "f";
  SignatureArgument c{.name = "c", .kind = SignatureKind::Callback};
  c.parameters = {{.name = "x", .shape = {"N"}, .intent = Intent::Out},
                  {.name = "o", .kind = SignatureKind::Object, .dtype = DType::Object}};
  c.result = DType::F32;
  s.arguments = {structure(point()),
                 {.name = "t", .dtype = DType::Record, .shape = {"N"}, .record = point()},
                 {.name = "s", .kind = SignatureKind::String, .optional = true},
                 {.name = "o", .kind = SignatureKind::Object, .dtype = DType::Object},
                 c,
                 {.name = "q", .kind = SignatureKind::Pointers, .dtype = DType::I8, .intent = Intent::InOut},
                 {.name = "b", .dtype = DType::F8E4M3FN, .shape = {"M"}}};
  s.returns = {{.name = "r", .kind = SignatureKind::Record, .dtype = DType::Record, .record = point()},
               {.name = "w", .kind = SignatureKind::Object, .dtype = DType::Object}};
  s.return_override = true;
  s.coerce = "asarray";
  const Signature made = complete(s);
  EXPECT_EQ(signature_from_json(to_json(made)), made);
}

TEST(Json, NamesTheFieldOfARecordThatIsWrong) {
  try {
    signature_from_json(R"({"schema": 1, "name": "f", "args": [{"name": "p", "kind": "struct", "record": {"bytes": 8,
      "literal": "", "fields": [{"name": "x", "offset": "0", "dtype": "int8"}]}}]})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "Signature JSON, fields[0]: 'offset' is \"0\", but an integer is expected.");
  }
}

}  // namespace
}  // namespace ferrule
