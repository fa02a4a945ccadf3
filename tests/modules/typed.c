/* total_<T>(x): the sum of an array of element type TYPE/DTYPE (given by -D), of RANK axes, C order; returned in
   double. One source for all element types. */
#include "module.h"

#ifndef RANK
#define RANK 1
#endif
#ifndef MODULE_NAME
#define MODULE_NAME "total"
#endif

static const FrExpr n[] = {EXPR(SYM(0)), EXPR(SYM(1))};
static const FrArg args[] = {ARRAY("x", DTYPE, RANK, FR_IN, FR_LAYOUT_C, n, 0)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0), EXTENT("M", 0, RANK - 1)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .flags = FR_RETURN_WEAK, .name = "sum", .kind = FR_RETURN_SCALAR, .dtype = FR_F64}};

static int32_t run(void* state, const FrCall* call) {
  const TYPE* x = call->args[0];
  const int64_t count = RANK == 1 ? call->symbols[0] : call->symbols[0] * call->symbols[1];
  double sum = 0;
  (void)state;
  for (int64_t i = 0; i < count; ++i) sum += (double)x[i];
  *(double*)call->args[1] = sum;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD(MODULE_NAME, FR_MODULE_STATELESS), ARGS(args, 1), SYMBOLS(symbols),
                                    RETURNS(returns), .run = run};
