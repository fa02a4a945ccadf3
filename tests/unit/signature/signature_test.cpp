#include "signature/signature.h"

#include <gtest/gtest.h>

#include "refused.h"
#include "signature/sizes.h"

namespace ferrule {
namespace {

SignatureArgument array(std::string name, std::vector<std::string> shape, Intent intent = Intent::In) {
  return {.name = std::move(name), .shape = std::move(shape), .intent = intent};
}

SignatureArgument scalar(std::string name, DType dtype) {
  return {.name = std::move(name), .kind = SignatureKind::Scalar, .dtype = dtype};
}

Signature with(std::vector<SignatureArgument> arguments) {
  Signature s;
  s.name = "f";
  s.arguments = std::move(arguments);
  return s;
}

// "N = a.shape[0]", "M = (a.shape[0] - 1) / 2", "K by keyword": a line a symbol.
std::string sources(const Signature& s) {
  const Sizes sizes = sizes_of(s);
  std::string text;
  for (const SizeSource& source : sizes.sources) {
    const std::string& name = s.symbols[source.symbol].name;
    const auto of = [&] { return s.arguments[static_cast<size_t>(source.argument)].name; };
    const std::string solved =
        "(" + std::to_string(source.coefficient) + "*" + name + " + " + std::to_string(source.offset) + ")";
    switch (source.kind) {
      case SizeSource::Kind::Extent:
        text += of() + ".shape[" + std::to_string(source.axis) + "] = " + solved;
        break;
      case SizeSource::Kind::Stride:
        text += of() + ".strides[" + std::to_string(source.axis) + "] = " + solved;
        break;
      case SizeSource::Kind::Scalar:
        text += name + " is an argument";
        break;
      case SizeSource::Kind::Position:
        text += name + " by position";
        break;
      case SizeSource::Kind::Joint:
        text += name + " = " + to_string(source.value, sizes.symbols.names());
        break;
      case SizeSource::Kind::Keyword:
        text += name + " by keyword";
        break;
    }
    text += "\n";
  }
  return text;
}

TEST(Sizes, TakesAPlainExtentBeforeAnythingElse) {
  EXPECT_EQ(sources(complete(with({array("a", {"2*N + 1"}), array("b", {"N"})}))), "b.shape[0] = (1*N + 0)\n");
}

TEST(Sizes, SolvesOneExtent) {
  EXPECT_EQ(sources(complete(with({array("a", {"2*N + 1"})}))), "a.shape[0] = (2*N + 1)\n");
}

TEST(Sizes, PrefersRequiredArguments) {
  SignatureArgument maybe = array("a", {"N"});
  maybe.optional = true;
  EXPECT_EQ(sources(complete(with({maybe, array("b", {"N + 1"})}))), "b.shape[0] = (1*N + 1)\n");
  EXPECT_EQ(sources(complete(with({maybe, array("b", {"N"})}))), "b.shape[0] = (1*N + 0)\n");
}

TEST(Sizes, SolvesTogether) {
  EXPECT_EQ(sources(complete(with({array("A", {"N + M"}), array("B", {"N - M"})}))),
            "N = (A.shape[0] + B.shape[0])//2\nM = (A.shape[0] + B.shape[0])//2 - B.shape[0]\n");
}

TEST(Sizes, SolvesProductsOnceAFactorIsKnown) {
  EXPECT_EQ(sources(complete(with({array("a", {"N*M"}), array("b", {"N"})}))),
            "b.shape[0] = (1*N + 0)\nM = a.shape[0]//N\n");
}

TEST(Sizes, TakesStridesWhereNoExtentTells) {
  SignatureArgument a = array("a", {"N", "M"});
  a.order = Order::Any;
  a.strides = {"L", "1"};
  EXPECT_EQ(sources(complete(with({a}))), "a.shape[0] = (1*N + 0)\na.shape[1] = (1*M + 0)\na.strides[0] = (1*L + 0)\n");
}

TEST(Sizes, IntegerArgumentsAndPositionsAreGiven) {
  EXPECT_EQ(sources(complete(with({array("a", {"n"}), scalar("n", DType::I32)}))), "n is an argument\n");
  Signature s = with({array("a", {"N"})});
  s.arg_names = {{"N", "a"}};
  EXPECT_EQ(sources(complete(s)), "N by position\n");
}

TEST(Sizes, ADeclaredSymbolThatNothingTellsComesByKeyword) {
  Signature s = with({});
  s.symbols = {{"K"}};
  s.returns = {{.name = "out", .shape = {"K"}}};
  EXPECT_EQ(sources(complete(s)), "K by keyword\n");
}

TEST(Complete, FillsInRun) {
  Signature s = with({array("a", {"N"}), scalar("w", DType::F64)});
  s.returns = {{.name = "out", .shape = {"N"}}};
  const Signature made = complete(s);
  EXPECT_EQ(made.run.name, "f");
  EXPECT_EQ(made.run.parameters, (std::vector<std::string>{"a", "w", "out", "N"}));
  EXPECT_EQ(complete(made), made);
}

TEST(Complete, RefusesWhatContradictsItself) {
  EXPECT_EQ(refused(with({array("a", {"N"}), array("a", {"N"})})),
            "The signature of 'f': 'a' is the name of an argument and of another argument; rename one.");
  EXPECT_EQ(refused(with({array("a", {"N*M"})})),
            "The signature of 'f': nothing tells the symbol 'N': no extent or stride can be solved for it; put it into "
            "arg_names, or into symbols to have it given by keyword.");
  EXPECT_EQ(refused(with({array("a", {"2 N"})})).substr(0, 34), "'a': the size '2 N' cannot be read");
  Signature missing = with({array("a", {"N"}), scalar("w", DType::F64)});
  missing.user_args = UserSlots{{"a"}};
  EXPECT_EQ(refused(missing), "The signature of 'f': the argument 'w' is missing from user_args.");
  Signature unknown = with({array("a", {"N"})});
  unknown.arg_names = {{"a", "b"}};
  EXPECT_EQ(refused(unknown), "The signature of 'f': arg_names has 'b', which is neither an argument nor a symbol.");
  Signature returned = with({array("a", {"N"})});
  returned.returns = {{.name = "out", .shape = {"N"}}};
  returned.user_args = UserSlots{{"a"}, {"out"}};
  EXPECT_EQ(refused(returned), "The signature of 'f': user_args has the return 'out'; returns are not given.");
  Signature twice = with({array("a", {"N"})});
  twice.user_args = UserSlots{{"a"}, {"", true, {{"a"}}}};
  EXPECT_EQ(refused(twice), "The signature of 'f': user_args has 'a' twice.");
  Signature parameter = with({array("a", {"N"})});
  parameter.run.parameters = {"a", "a.strides[1]"};
  EXPECT_EQ(refused(parameter),
            "The signature of 'f': 'f' takes 'a.strides[1]', which is no argument, return, symbol or "
            "stride such as 'x.strides[0]'.");
  Signature lost = with({array("a", {"N"})});
  lost.returns = {{.name = "out", .shape = {"N"}}};
  lost.run.parameters = {"a", "N"};
  EXPECT_EQ(refused(lost), "The signature of 'f': the return 'out' is neither a parameter of 'f' nor its result.");
  Signature bad = with({});
  bad.name = "two words";
  EXPECT_EQ(refused(bad), "The signature's name 'two words' is no identifier; use letters, digits and '_'.");
  EXPECT_EQ(refused(with({{.name = "h", .kind = SignatureKind::Scalar, .dtype = DType::F8E5M2}})),
            "The signature of 'f': the scalar 'h' has dtype float8_e5m2, which is for arrays alone; declare float32.");
}

TEST(Json, RoundTrips) {
  Signature s = with({array("a", {"N", "2*M"}, Intent::InOut), scalar("w", DType::F32), array("b", {"N"})});
  s.arguments[1].default_text = "0.5";
  s.arguments[2].optional = true;
  s.arguments[2].order = Order::Inner;
  s.symbols = {{"N", DType::I32}, {"K", DType::I64, false}};
  s.returns = {{.name = "out", .shape = {"M"}}, {.name = "r", .kind = SignatureKind::Scalar}};
  s.arg_names = {{"a", "K"}};
  s.user_args = UserSlots{{"a"}, {"", true, {{""}, {"w"}, {"K"}}}, {"b"}};
  s.run.result = "r";
  s.returns_tuple = s.may_alias = s.strict_scalars = true;
  const Signature made = complete(s);
  EXPECT_EQ(signature_from_json(to_json(made)), made);
  EXPECT_EQ(to_json(complete(signature_from_json(to_json(made)))), to_json(made));
}

TEST(Json, NamesTheFieldThatIsWrong) {
  const auto text = [](const std::string& json) {
    try {
      signature_from_json(json);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(text("nonsense"), "The signature is no JSON text.");
  EXPECT_EQ(text("{\"name\": \"f\"}"), "Signature JSON, the signature: the field 'schema' is missing.");
  EXPECT_EQ(text("{\"schema\": 99, \"name\": \"f\"}"),
            "Signature JSON, the signature: schema 99 is not known; this library reads 1 to 1.");
  EXPECT_EQ(text("{\"schema\": 1, \"name\": \"f\", \"args\": [{\"name\": \"a\", \"dtype\": \"float65\"}]}"),
            "Signature JSON, args[0]: 'float65' is no element type.");
  EXPECT_EQ(
      text("{\"schema\": 1, \"name\": \"f\", \"returns\": [{\"name\": \"a\", \"dtype\": \"float64\", \"offset\": 3}]}"),
      "Signature JSON, returns[0]: the field 'offset' is not known; the fields are dtype, kind, name, shape.");
  EXPECT_EQ(
      text("{\"schema\": 1, \"name\": \"f\", \"args\": [{\"name\": \"a\", \"dtype\": \"int8\", \"order\": \"Z\"}]}"),
      "Signature JSON, args[0]: 'order' is 'Z', but one of C, F, inner, any is expected.");
}

}  // namespace
}  // namespace ferrule
