/* scalars(...): one scalar of each type, with defaults, returned as a tuple; the int n is also a symbol, whose square
   is the extent of a returned array; k is weak and returned as a Python int. */
#include <string.h>

#include "module.h"

static const FrArg args[] = {SCALAR("b", FR_BOOL, 0, -1, "False"),     SCALAR("i8", FR_I8, 0, -1, "-1"),
                             SCALAR("i32", FR_I32, 0, -1, "2"),        SCALAR("i64", FR_I64, 0, -1, "3"),
                             SCALAR("u8", FR_U8, 0, -1, "4"),          SCALAR("u64", FR_U64, 0, -1, "5"),
                             SCALAR("f32", FR_F32, 0, -1, "0.5"),      SCALAR("f64", FR_F64, 0, -1, "0.25"),
                             SCALAR("c64", FR_C64, 0, -1, "1j"),       SCALAR("c128", FR_C128, 0, -1, "2j"),
                             SCALAR("k", FR_I64, FR_ARG_WEAK, 0, "1"), SCALAR("w", FR_F64, FR_ARG_WEAK, -1, "1.5")};
static const FrSymbol symbols[] = {
    {.size = sizeof(FrSymbol), .flags = 1, .name = "k", .source = FR_SYMBOL_SCALAR, .arg = 10}};
static const FrExpr square[] = {EXPR(SYM(0), SYM(0), FR_X_MUL)};
#define VALUE(dtype_, flags_) {.size = sizeof(FrReturn), .flags = flags_, .kind = FR_RETURN_SCALAR, .dtype = dtype_}
static const FrReturn returns[] = {
    VALUE(FR_BOOL, 0),
    VALUE(FR_I8, 0),
    VALUE(FR_I32, 0),
    VALUE(FR_I64, 0),
    VALUE(FR_U8, 0),
    VALUE(FR_U64, 0),
    VALUE(FR_F32, 0),
    VALUE(FR_F64, 0),
    VALUE(FR_C64, 0),
    VALUE(FR_C128, 0),
    VALUE(FR_I64, FR_RETURN_WEAK),
    VALUE(FR_F64, FR_RETURN_WEAK),
    {.size = sizeof(FrReturn), .name = "ones", .kind = FR_RETURN_ARRAY, .dtype = FR_U8, .rank = 1, .extents = square},
    {.size = sizeof(FrReturn), .kind = FR_RETURN_NONE}};
/* Guards over scalar values: a predicate of a float argument. */
static const FrGuard guards[] = {{EXPR(FR_X_FARG, 7, FR_X_FCONST, 0x4059000000000000, FR_X_FLT), "f64 < 100.0", 0, 0}};

static int32_t run(void* state, const FrCall* call) {
  static const int sizes[] = {1, 1, 4, 8, 1, 8, 4, 8, 8, 16, 8, 8};
  (void)state;
  for (int i = 0; i < 12; ++i) memcpy(call->args[12 + i], call->args[i], sizes[i]);
  memset(call->args[24], 1, call->symbols[0] * call->symbols[0]);
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("scalars", FR_MODULE_STATELESS),
                                    ARGS(args, 12),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    GUARDS(guards),
                                    .run = run};
