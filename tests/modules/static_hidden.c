/* scaled(x, axis, *, scale_by=2.0): a static argument, a hidden global array `table` and an explicit size K: returns
   x.sum() * table[K - 1]. */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrExpr t[] = {EXPR(SYM(1))};
static const FrArg args[] = {ARRAY("x", FR_F64, 1, FR_IN, FR_LAYOUT_C, n, 0),
                             {.size = sizeof(FrArg), .name = "axis", .kind = FR_ARG_STATIC, .symbol = -1},
                             {.size = sizeof(FrArg),
                              .flags = FR_ARG_HIDDEN,
                              .name = "table",
                              .kind = FR_ARG_ARRAY,
                              .dtype = FR_F64,
                              .rank = 1,
                              .intent = FR_IN,
                              .layout = FR_LAYOUT_C,
                              .extents = t,
                              .symbol = -1}};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0),
                                   EXTENT("T", 2, 0),
                                   {.size = sizeof(FrSymbol), .name = "K", .source = FR_SYMBOL_EXPLICIT, .arg = -1}};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .name = "sum", .kind = FR_RETURN_SCALAR, .dtype = FR_F64}};
static const FrGuard guards[] = {{EXPR(SYM(2), SYM(1), FR_X_LE), "K <= table.shape[0]", 0, 0},
                                 {EXPR(CONST(1), SYM(2), FR_X_LE), "K >= 1", 0, 0}};

static int32_t run(void* state, const FrCall* call) {
  const double *x = call->args[0], *table = call->args[2];
  double sum = 0;
  (void)state;
  for (int64_t i = 0; i < call->symbols[0]; ++i) sum += x[i];
  *(double*)call->args[3] = sum * table[call->symbols[2] - 1];
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("scaled", FR_MODULE_STATELESS),
                                    ARGS(args, 2),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    GUARDS(guards),
                                    .run = run};
