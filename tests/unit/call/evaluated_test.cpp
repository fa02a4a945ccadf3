// Modules for target 'reference': whom their calls ask, what that one is told, what becomes of its failures.
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

#include "../../modules/compile.h"
#include "base/error.h"
#include "call/invoke.h"
#include "runtime/evaluator.h"

namespace ferrule {
namespace {

using test::compile_module;

int32_t half(const FrCall& call, const FrProgram& program, std::span<const uint8_t> kinds) {
  const std::vector<uint8_t> expected = {FR_RETURN_ARRAY, FR_RETURN_SCALAR, FR_RETURN_ARGUMENT, FR_RETURN_DYNAMIC};
  if (!std::equal(kinds.begin(), kinds.end(), expected.begin(), expected.end())) return FR_STATUS_ERROR;
  if (std::string_view(program.text, static_cast<size_t>(program.length)) != "the program") return FR_STATUS_ERROR;
  const int64_t n = call.symbols[0];
  const auto* x = static_cast<const double*>(call.args[0]);
  if (x[0] == -1) throw std::runtime_error("no such luck");
  if (x[0] == -2) throw std::bad_alloc();
  if (x[0] == -3) {
    const int64_t values[4] = {9, -1, n, 0};
    call.host->set_error(call.ctx, FR_ERR_INDEX, program.sites[1], values);
    return FR_STATUS_ERROR;
  }
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(call.args[1])[i] = x[i] / 2;
  *static_cast<double*>(call.args[2]) = static_cast<double>(program.n_sites);
  const int64_t shape[] = {2};
  auto* made = static_cast<double*>(call.host->alloc_return(call.ctx, 3, 1, shape));
  made[0] = x[0], made[1] = x[n - 1];
  return FR_OK;
}

bool asked = false;
void give_half() {
  asked = true;
  set_evaluator(half);
}

std::string failure(Handle& handle, double first, Builtin builtin) {
  double x[] = {first, 1};
  const int64_t n = 2, stride = sizeof(double);
  try {
    invoke(handle, std::vector<CallArgument>{ArrayRef{x, DType::F64, 1, &n, &stride, false}});
  } catch (const Error& error) {
    EXPECT_EQ(error.builtin(), builtin);
    return error.what();
  }
  return "";
}

TEST(Evaluated, ByWhoeverIsSet) {
  EXPECT_FALSE(has_evaluator());
  const auto module = load_file(compile_module("reference.c"));
  try {
    Handle handle(module);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Incompatible);
    EXPECT_EQ(std::string(error.what()),
              "'half' is compiled for target 'reference', which the evaluator of libferrule runs; link libferrule and "
              "call ferrule::use_evaluator() first.");
  }

  set_evaluator_source(give_half);
  EXPECT_TRUE(has_evaluator());
  Handle handle(module);
  EXPECT_FALSE(asked);  // a load alone needs none
  double x[] = {6, 8, 10};
  const int64_t n = 3, stride = sizeof(double);
  const Results results = invoke(handle, std::vector<CallArgument>{ArrayRef{x, DType::F64, 1, &n, &stride, false}});
  EXPECT_TRUE(asked);
  EXPECT_EQ(static_cast<double*>(results[0].data)[2], 5);
  EXPECT_EQ(*static_cast<double*>(results[1].data), 2);
  EXPECT_EQ(results[2].data, x);
  EXPECT_EQ(results[3].shape, std::vector<int64_t>{2});
  EXPECT_EQ(static_cast<double*>(results[3].data)[1], 10);

  EXPECT_EQ(failure(handle, -1, Builtin::Runtime), "half(): the program recorded an error: no such luck.");
  EXPECT_EQ(failure(handle, -2, Builtin::Memory), "half(): there is no more memory.");
  EXPECT_EQ(failure(handle, -3, Builtin::Index), "half(): index 9 is out of bounds for size 2.");
}

}  // namespace
}  // namespace ferrule
