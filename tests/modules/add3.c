/* add3(a, b, out): out = a + b over float64[N], N inferred. Overlap of out with an input is right only if identical;
   run_alias is right for all. */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrArg args[] = {ARRAY("a", FR_F64, 1, FR_IN, FR_LAYOUT_C, n, 0),
                             ARRAY("b", FR_F64, 1, FR_IN, FR_LAYOUT_C, n, 0),
                             ARRAY("out", FR_F64, 1, FR_OUT, FR_LAYOUT_C, n, 0)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0)};
static const FrAliasPair alias[] = {{2, 0, FR_ALIAS_IDENTICAL}, {2, 1, FR_ALIAS_IDENTICAL}};
static const FrFact facts[] = {{"compiler", "gcc"}, {"features", ""}};

static int32_t run(void* state, const FrCall* call) {
  const double *a = call->args[0], *b = call->args[1];
  double* out = call->args[2];
  (void)state;
  for (int64_t i = 0; i < call->symbols[0]; ++i) out[i] = a[i] + b[i];
  return FR_OK;
}

/* Marks its results with + 1000, so that a test sees which entry ran; sums into the arena first. */
static int32_t run_alias(void* state, const FrCall* call) {
  const double *a = call->args[0], *b = call->args[1];
  double *out = call->args[2], *sums = call->arena;
  (void)state;
  for (int64_t i = 0; i < call->symbols[0]; ++i) sums[i] = a[i] + b[i];
  for (int64_t i = 0; i < call->symbols[0]; ++i) out[i] = sums[i] + 1000;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("add3", FR_MODULE_STATELESS),
                                    ARGS(args, 3),
                                    SYMBOLS(symbols),
                                    ALIAS(alias),
                                    FACTS(facts),
                                    .arena_bytes = EXPR(SYM(0), CONST(8), FR_X_MUL),
                                    .work = EXPR(SYM(0)),
                                    .run = run,
                                    .run_alias = run_alias};
