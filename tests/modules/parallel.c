/* check(index, limit): a parallel loop over int64[N]; an element outside of [0, limit) is an index error at its
   position (values: element, axis 0, limit; site 0 for even positions, 1 for odd). Sums the workers seen into scratch.
 */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrArg args[] = {ARRAY("index", FR_I64, 1, FR_IN, FR_LAYOUT_C, n, 0), SCALAR("limit", FR_I64, 0, -1, 0)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .name = "sum", .kind = FR_RETURN_SCALAR, .dtype = FR_I64}};

typedef struct {
  const FrCall* call;
  const FrHost* host;
  int64_t* partial;
} Closure;

static int32_t body(void* closure, int64_t lo, int64_t hi, int32_t worker) {
  Closure* c = closure;
  const int64_t* index = c->call->args[0];
  const int64_t limit = *(const int64_t*)c->call->args[1];
  for (int64_t i = lo; i < hi; ++i) {
    if (index[i] < 0 || index[i] >= limit) {
      const int64_t values[4] = {index[i], 0, limit, i};
      c->host->set_error(c->call->ctx, FR_ERR_INDEX, (int32_t)(i & 1), values);
      return FR_STATUS_ERROR;
    }
    c->partial[worker * 8] += index[i];
  }
  return FR_OK;
}

static int32_t init(void** state, const FrHost* host, const int64_t* symbols_) {
  (void)symbols_;
  *state = (void*)host;
  return FR_OK;
}

static int32_t run(void* state, const FrCall* call) {
  const FrHost* host = state;
  int64_t* partial = host->alloc_scratch(call->ctx, 1024 * 64);
  if (!partial) return FR_STATUS_ERROR;
  for (int i = 0; i < 1024 * 8; ++i) partial[i] = 0;
  Closure closure = {call, host, partial};
  const int32_t status = host->parallel_for(call->ctx, call->symbols[0], 16, body, &closure);
  if (status != FR_OK) return status;
  int64_t sum = 0;
  for (int i = 0; i < 1024; ++i) sum += partial[i * 8];
  *(int64_t*)call->args[2] = sum;
  return FR_OK;
}

static int32_t leave(void* state) {
  (void)state;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("check", 0),      ARGS(args, 2), SYMBOLS(symbols), RETURNS(returns),
                                    .work = EXPR(CONST(1000000)), .init = init,  .run = run,       .exit = leave};
