// The layout of abi.h on 64-bit hosts: what is here must never change within a major version; new fields go to the end.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "ferrule/abi.h"

namespace {

TEST(AbiLayout, SizesAndOffsetsAreThoseOfVersionOne) {
  EXPECT_EQ(sizeof(FrExpr), 16u);
  EXPECT_EQ(offsetof(FrExpr, code), 0u);
  EXPECT_EQ(offsetof(FrExpr, count), 8u);
  EXPECT_EQ(sizeof(FrArg), 56u);
  EXPECT_EQ(offsetof(FrArg, size), 0u);
  EXPECT_EQ(offsetof(FrArg, flags), 4u);
  EXPECT_EQ(offsetof(FrArg, name), 8u);
  EXPECT_EQ(offsetof(FrArg, kind), 16u);
  EXPECT_EQ(offsetof(FrArg, dtype), 17u);
  EXPECT_EQ(offsetof(FrArg, rank), 18u);
  EXPECT_EQ(offsetof(FrArg, intent), 19u);
  EXPECT_EQ(offsetof(FrArg, layout), 20u);
  EXPECT_EQ(offsetof(FrArg, space), 21u);
  EXPECT_EQ(offsetof(FrArg, inner_axis), 22u);
  EXPECT_EQ(offsetof(FrArg, extents), 24u);
  EXPECT_EQ(offsetof(FrArg, strides), 32u);
  EXPECT_EQ(offsetof(FrArg, symbol), 40u);
  EXPECT_EQ(offsetof(FrArg, default_text), 48u);
  EXPECT_EQ(sizeof(FrSymbol), 40u);
  EXPECT_EQ(offsetof(FrSymbol, size), 0u);
  EXPECT_EQ(offsetof(FrSymbol, flags), 4u);
  EXPECT_EQ(offsetof(FrSymbol, name), 8u);
  EXPECT_EQ(offsetof(FrSymbol, source), 16u);
  EXPECT_EQ(offsetof(FrSymbol, axis), 17u);
  EXPECT_EQ(offsetof(FrSymbol, arg), 20u);
  EXPECT_EQ(offsetof(FrSymbol, solve), 24u);
  EXPECT_EQ(sizeof(FrReturn), 32u);
  EXPECT_EQ(offsetof(FrReturn, size), 0u);
  EXPECT_EQ(offsetof(FrReturn, flags), 4u);
  EXPECT_EQ(offsetof(FrReturn, name), 8u);
  EXPECT_EQ(offsetof(FrReturn, kind), 16u);
  EXPECT_EQ(offsetof(FrReturn, dtype), 17u);
  EXPECT_EQ(offsetof(FrReturn, rank), 18u);
  EXPECT_EQ(offsetof(FrReturn, arg), 20u);
  EXPECT_EQ(offsetof(FrReturn, extents), 24u);
  EXPECT_EQ(sizeof(FrGuard), 32u);
  EXPECT_EQ(offsetof(FrGuard, condition), 0u);
  EXPECT_EQ(offsetof(FrGuard, text), 16u);
  EXPECT_EQ(offsetof(FrGuard, flags), 24u);
  EXPECT_EQ(sizeof(FrAliasPair), 8u);
  EXPECT_EQ(offsetof(FrAliasPair, written), 0u);
  EXPECT_EQ(offsetof(FrAliasPair, other), 2u);
  EXPECT_EQ(offsetof(FrAliasPair, allowed), 4u);
  EXPECT_EQ(sizeof(FrCall), 64u);
  EXPECT_EQ(offsetof(FrCall, size), 0u);
  EXPECT_EQ(offsetof(FrCall, flags), 4u);
  EXPECT_EQ(offsetof(FrCall, args), 8u);
  EXPECT_EQ(offsetof(FrCall, symbols), 16u);
  EXPECT_EQ(offsetof(FrCall, arena), 24u);
  EXPECT_EQ(offsetof(FrCall, ctx), 32u);
  EXPECT_EQ(offsetof(FrCall, stream), 40u);
  EXPECT_EQ(offsetof(FrCall, num_threads), 48u);
  EXPECT_EQ(offsetof(FrCall, host), 56u);
  EXPECT_EQ(sizeof(FrHost), 72u);
  EXPECT_EQ(offsetof(FrHost, size), 0u);
  EXPECT_EQ(offsetof(FrHost, version), 4u);
  EXPECT_EQ(offsetof(FrHost, set_error), 8u);
  EXPECT_EQ(offsetof(FrHost, alloc_return), 16u);
  EXPECT_EQ(offsetof(FrHost, view_return), 24u);
  EXPECT_EQ(offsetof(FrHost, parallel_for), 32u);
  EXPECT_EQ(offsetof(FrHost, callback), 40u);
  EXPECT_EQ(offsetof(FrHost, blas), 48u);
  EXPECT_EQ(offsetof(FrHost, timer), 56u);
  EXPECT_EQ(offsetof(FrHost, alloc_scratch), 64u);
  EXPECT_EQ(sizeof(FrFact), 16u);
  EXPECT_EQ(sizeof(FrModule), 184u);
  EXPECT_EQ(offsetof(FrModule, magic), 0u);
  EXPECT_EQ(offsetof(FrModule, size), 8u);
  EXPECT_EQ(offsetof(FrModule, major), 12u);
  EXPECT_EQ(offsetof(FrModule, minor), 14u);
  EXPECT_EQ(offsetof(FrModule, flags), 16u);
  EXPECT_EQ(offsetof(FrModule, name), 24u);
  EXPECT_EQ(offsetof(FrModule, digest), 32u);
  EXPECT_EQ(offsetof(FrModule, n_args), 40u);
  EXPECT_EQ(offsetof(FrModule, n_symbols), 44u);
  EXPECT_EQ(offsetof(FrModule, n_returns), 48u);
  EXPECT_EQ(offsetof(FrModule, n_guards), 52u);
  EXPECT_EQ(offsetof(FrModule, n_alias), 56u);
  EXPECT_EQ(offsetof(FrModule, n_facts), 60u);
  EXPECT_EQ(offsetof(FrModule, args), 64u);
  EXPECT_EQ(offsetof(FrModule, symbols), 72u);
  EXPECT_EQ(offsetof(FrModule, returns), 80u);
  EXPECT_EQ(offsetof(FrModule, guards), 88u);
  EXPECT_EQ(offsetof(FrModule, alias), 96u);
  EXPECT_EQ(offsetof(FrModule, facts), 104u);
  EXPECT_EQ(offsetof(FrModule, arena_bytes), 112u);
  EXPECT_EQ(offsetof(FrModule, work), 128u);
  EXPECT_EQ(offsetof(FrModule, init), 144u);
  EXPECT_EQ(offsetof(FrModule, run), 152u);
  EXPECT_EQ(offsetof(FrModule, run_alias), 160u);
  EXPECT_EQ(offsetof(FrModule, exit), 168u);
  EXPECT_EQ(offsetof(FrModule, n_positional), 176u);
}

TEST(AbiLayout, NumbersOfTypesAndCodesAreThoseOfVersionOne) {
  EXPECT_EQ(FR_ABI_MAJOR, 1u);
  EXPECT_EQ(FR_BOOL, 0);
  EXPECT_EQ(FR_I64, 4);
  EXPECT_EQ(FR_U64, 8);
  EXPECT_EQ(FR_F32, 11);
  EXPECT_EQ(FR_F64, 12);
  EXPECT_EQ(FR_C128, 14);
  EXPECT_EQ(FR_STATUS_USER, 16);
  EXPECT_EQ(FR_X_SELECT, 18);
  EXPECT_EQ(FR_RETURN_NONE, 5);
}

TEST(AbiLayout, MagicReadsAsTextInMemory) {
  const uint64_t magic = FR_ABI_MAGIC;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&magic), 8), "FERRUL01");
}

}  // namespace
