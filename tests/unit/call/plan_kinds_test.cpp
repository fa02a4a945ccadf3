// What a plan refuses of descriptors with structs and callbacks, and that plain C++ calls do not enter such modules.
#include <gtest/gtest.h>

#include "base/error.h"
#include "call/plan.h"

namespace ferrule {
namespace {

int32_t run(void*, const FrCall*) { return FR_OK; }

const FrField kFields[] = {{sizeof(FrField), 0, "x", FR_F64, {}, 1}, {sizeof(FrField), 8, "n", FR_I32, {}, 2}};
const FrRecord kPoint = {sizeof(FrRecord), 16, "p", 2, 8, kFields};

FrArg argument(FrArgKind kind, uint8_t dtype) {
  FrArg a{};
  a.size = sizeof(FrArg);
  a.name = "p";
  a.kind = static_cast<uint8_t>(kind);
  a.dtype = dtype;
  a.intent = FR_IN;
  a.symbol = -1;
  return a;
}

FrModule module_with(const FrArg& a) {
  FrModule m{};
  m.magic = FR_ABI_MAGIC;
  m.size = sizeof(FrModule);
  m.flags = FR_MODULE_STATELESS;
  m.name = "f";
  m.n_args = m.n_positional = 1;
  m.args = &a;
  m.run = run;
  return m;
}

std::string refused(const FrArg& a) {
  const FrModule m = module_with(a);
  try {
    make_plan(m);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    return error.what();
  }
  return "accepted";
}

TEST(PlanKinds, StructsBringTheirSizeAndAlignment) {
  FrArg a = argument(FR_ARG_RECORD, FR_RECORD);
  a.record = &kPoint;
  const FrModule m = module_with(a);
  const CallPlan plan = make_plan(m);
  EXPECT_EQ(plan.args[0].item, 16);
  EXPECT_EQ(plan.args[0].alignment, 8);
  EXPECT_TRUE(plan.needs_python);
  EXPECT_EQ(signature_text(m), "f(p: struct)");
}

TEST(PlanKinds, RefuseBrokenStructs) {
  FrArg a = argument(FR_ARG_RECORD, FR_RECORD);
  EXPECT_EQ(refused(a), "'f' contradicts itself: 'p' is a struct without fields; build it again.");
  const FrField outside = {sizeof(FrField), 12, "x", FR_F64, {}, 1};
  const FrField unknown = {sizeof(FrField), 0, "x", 77, {}, 1};
  for (const FrField* field : {&outside, &unknown}) {
    const FrRecord record = {sizeof(FrRecord), 16, "p", 1, 8, field};
    a.record = &record;
    EXPECT_EQ(refused(a), "'f' contradicts itself: 'p' is a struct with a field outside of it; build it again.");
  }
  EXPECT_EQ(refused(argument(FR_ARG_RECORD, FR_F64)),
            "'f' contradicts itself: 'p' has a dtype that its kind does not have; build it again.");
}

TEST(PlanKinds, CallbacksBringTheirParameters) {
  const FrArg parameters[] = {argument(FR_ARG_SCALAR, FR_I32), argument(FR_ARG_OBJECT, FR_OBJECT)};
  const FrCallback callback = {sizeof(FrCallback), 2, parameters, 1, FR_F64, 0};
  FrArg a = argument(FR_ARG_CALLBACK, FR_F64);
  a.callback = &callback;
  const FrModule m = module_with(a);
  const CallPlan plan = make_plan(m);
  ASSERT_EQ(plan.callbacks.size(), 1u);
  EXPECT_EQ(plan.callbacks[0].parameters.size(), 2u);
  EXPECT_TRUE(plan.callbacks[0].has_result);
  EXPECT_TRUE(plan.involved);
  EXPECT_FALSE(plan.returns_none);
}

TEST(PlanKinds, RefuseBrokenCallbacks) {
  FrArg a = argument(FR_ARG_CALLBACK, FR_F64);
  EXPECT_EQ(refused(a), "'f' contradicts itself: 'p' is a callback of unknown parameters; build it again.");
  const FrArg text = argument(FR_ARG_STRING, FR_F64);
  const FrCallback callback = {sizeof(FrCallback), 1, &text, 0, 0, 0};
  a.callback = &callback;
  EXPECT_EQ(refused(a), "'f' contradicts itself: 'p' has a parameter that callbacks do not take; build it again.");
}

TEST(PlanKinds, RefuseScalarsThatOnlyArraysHave) {
  for (const uint8_t dtype : {FR_F8_E5M2, FR_OBJECT})
    EXPECT_EQ(refused(argument(FR_ARG_SCALAR, dtype)),
              "'f' contradicts itself: 'p' is a scalar of a dtype that only arrays have; build it again.");
  EXPECT_EQ(refused(argument(FR_ARG_POINTERS, FR_OBJECT)),
            "'f' contradicts itself: 'p' points to no numbers; build it again.");
}

}  // namespace
}  // namespace ferrule
