/* pair(a, b, c): every extent is a symbol of its own; guards say that they are equal. `run` takes no arena, `run_alias`
   does; the result is None. */
#include "module.h"

static const FrExpr na[] = {EXPR(SYM(0))}, nb[] = {EXPR(SYM(1))}, nc[] = {EXPR(SYM(0))};
static const FrArg args[] = {ARRAY("a", FR_F64, 1, FR_IN, FR_LAYOUT_C, na, 0),
                             ARRAY("b", FR_F64, 1, FR_IN, FR_LAYOUT_C, nb, 0),
                             ARRAY("c", FR_F64, 1, FR_INOUT, FR_LAYOUT_C, nc, 0)};
static const FrSymbol symbols[] = {EXTENT("a.shape[0]", 0, 0), EXTENT("b.shape[0]", 1, 0), EXTENT("c.shape[0]", 2, 0)};
static const FrGuard guards[] = {{EXPR(SYM(0), SYM(1), FR_X_EQ), "a.shape[0] == b.shape[0]", 1, 0},
                                 {EXPR(SYM(0), SYM(2), FR_X_EQ), "a.shape[0] == c.shape[0]", 1, 0},
                                 {EXPR(SYM(0), CONST(7), FR_X_LE), "a.shape[0] <= 7", 1, 0}};
static const FrReturn returns[] = {{.size = sizeof(FrReturn), .name = "", .kind = FR_RETURN_NONE, .arg = -1}};

static int32_t run(void* state, const FrCall* call) {
  double* c = call->args[2];
  (void)state;
  for (int64_t i = 0; i < call->symbols[1]; ++i) c[i] = call->arena == 0 ? 1 : -1;
  return FR_OK;
}

static int32_t run_alias(void* state, const FrCall* call) {
  double* c = call->args[2];
  (void)state;
  for (int64_t i = 0; i < call->symbols[2]; ++i) c[i] = call->arena != 0 ? 2 : -2;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("pair", FR_MODULE_STATELESS | FR_MODULE_ARENA_FOR_ALIAS),
                                    ARGS(args, 3),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    GUARDS(guards),
                                    .arena_bytes = EXPR(SYM(0), CONST(8), FR_X_MUL),
                                    .work = EXPR(SYM(0)),
                                    .run = run,
                                    .run_alias = run_alias};
