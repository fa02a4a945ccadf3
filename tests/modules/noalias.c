/* shift(a, out): out = a over float64[N] of any strides; no overlap is right and there is no run_alias. */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrExpr sa[] = {EXPR(SYM(1))}, so[] = {EXPR(SYM(2))};
static const FrArg args[] = {ARRAY("a", FR_F64, 1, FR_IN, FR_LAYOUT_ANY, n, sa),
                             ARRAY("out", FR_F64, 1, FR_OUT, FR_LAYOUT_ANY, n, so)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0), STRIDE("a.strides[0]", 0, 0), STRIDE("out.strides[0]", 1, 0)};

static int32_t run(void* state, const FrCall* call) {
  const double* a = call->args[0];
  double* out = call->args[1];
  (void)state;
  for (int64_t i = 0; i < call->symbols[0]; ++i) out[i * call->symbols[2]] = a[i * call->symbols[1]];
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("shift", FR_MODULE_STATELESS), ARGS(args, 2), SYMBOLS(symbols),
                                    .work = EXPR(SYM(0)), .run = run};
