/* positive(a, begin, step): (the elements > 0 in fresh memory whose size is known only at run time,
   the view a[begin::step]). */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrExpr stride[] = {EXPR(SYM(1))};
static const FrArg args[] = {ARRAY("a", FR_I32, 1, FR_IN, FR_LAYOUT_ANY, n, stride), SCALAR("begin", FR_I64, 0, -1, 0),
                             SCALAR("step", FR_I64, 0, -1, 0)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0), STRIDE("a.strides[0]", 0, 0)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .name = "kept", .kind = FR_RETURN_DYNAMIC, .dtype = FR_I32, .rank = 1},
    {.size = sizeof(FrReturn), .name = "view", .kind = FR_RETURN_VIEW, .dtype = FR_I32, .rank = 1, .arg = 0}};

static int32_t run(void* state, const FrCall* call) {
  const int32_t* a = call->args[0];
  const int64_t count = call->symbols[0], s = call->symbols[1];
  const int64_t begin = *(const int64_t*)call->args[1], step = *(const int64_t*)call->args[2];
  int64_t kept = 0;
  (void)state;
  for (int64_t i = 0; i < count; ++i) kept += a[i * s] > 0;
  /* A huge step asks for memory that no system has. */
  const int64_t asked = step > 1000000 ? step : kept;
  int32_t* out = call->host->alloc_return(call->ctx, 0, 1, &asked);
  if (!out) return FR_STATUS_ERROR;
  for (int64_t i = 0, k = 0; i < count; ++i)
    if (a[i * s] > 0) out[k++] = a[i * s];
  const int64_t length = begin < count ? (count - begin + step - 1) / step : 0;
  const int64_t view_stride = s * step;
  return call->host->view_return(call->ctx, 1, 0, begin * s * 4, 1, &length, &view_stride);
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("positive", FR_MODULE_STATELESS),
                                    ARGS(args, 3),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    .work = EXPR(SYM(0)),
                                    .run = run};
