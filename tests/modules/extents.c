/* pairs(a, b, c, d=...): float64[2*N] with N solved from a, float32[N, M], int64[10]; returns N*1000 + M as int64. */
#include "module.h"

static const FrExpr twice[] = {EXPR(CONST(2), SYM(0), FR_X_MUL)};
static const FrExpr nm[] = {EXPR(SYM(0)), EXPR(SYM(1))};
static const FrExpr ten[] = {EXPR(CONST(10))};
static const FrArg args[] = {ARRAY("a", FR_F64, 1, FR_IN, FR_LAYOUT_C, twice, 0),
                             ARRAY("b", FR_F32, 2, FR_IN, FR_LAYOUT_C, nm, 0),
                             ARRAY("c", FR_I64, 1, FR_IN, FR_LAYOUT_C, ten, 0)};
static const FrSymbol symbols[] = {{.size = sizeof(FrSymbol),
                                    .name = "N",
                                    .source = FR_SYMBOL_EXTENT,
                                    .axis = 0,
                                    .arg = 0,
                                    .solve = EXPR(SYM(0), CONST(2), FR_X_FLOORDIV)},
                                   EXTENT("M", 1, 1)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .name = "code", .kind = FR_RETURN_SCALAR, .dtype = FR_I64}};
static const FrGuard guards[] = {{EXPR(CONST(1), SYM(1), FR_X_LE), "b.shape[1] >= 1", 0, 0}};

static int32_t run(void* state, const FrCall* call) {
  (void)state;
  *(int64_t*)call->args[3] = call->symbols[0] * 1000 + call->symbols[1];
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("pairs", FR_MODULE_STATELESS),
                                    ARGS(args, 3),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    GUARDS(guards),
                                    .run = run};
