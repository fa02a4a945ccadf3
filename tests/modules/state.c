/* next(): counts calls in the handle's state; init fails with status 20 while the symbol `start` is negative, exit
   returns 21 once 100 is reached. */
#include <stdlib.h>

#include "module.h"

static const FrArg args[] = {SCALAR("start", FR_I64, FR_ARG_WEAK, 0, "0")};
static const FrSymbol symbols[] = {
    {.size = sizeof(FrSymbol), .flags = 1, .name = "start", .source = FR_SYMBOL_SCALAR, .arg = 0}};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .flags = FR_RETURN_WEAK, .name = "count", .kind = FR_RETURN_SCALAR, .dtype = FR_I64}};

static int32_t init(void** state, const FrHost* host, const int64_t* persistent) {
  (void)host;
  if (persistent[0] < 0) return 20;
  int64_t* count = malloc(sizeof *count);
  if (!count) return FR_STATUS_ERROR;
  *count = persistent[0];
  *state = count;
  return FR_OK;
}

static int32_t run(void* state, const FrCall* call) {
  *(int64_t*)call->args[1] = __atomic_add_fetch((int64_t*)state, 1, __ATOMIC_RELAXED);
  return FR_OK;
}

static int32_t leave(void* state) {
  const int32_t status = *(int64_t*)state >= 100 ? 21 : FR_OK;
  free(state);
  return status;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("next", 0), ARGS(args, 1), SYMBOLS(symbols), RETURNS(returns),
                                    .init = init,           .run = run,    .exit = leave};
