/* A Ferrule module of N_ARRAYS float64[N] arrays, the last one written, whose body does next to nothing. */
#include "ferrule/abi.h"

static const int64_t code[] = {FR_X_SYMBOL, 0};
static const FrExpr extents[] = {{code, 2}};
#define A(name_, intent_) \
  {.size = sizeof(FrArg), \
   .name = name_,         \
   .kind = FR_ARG_ARRAY,  \
   .dtype = FR_F64,       \
   .rank = 1,             \
   .intent = intent_,     \
   .layout = FR_LAYOUT_C, \
   .extents = extents,    \
   .symbol = -1}
static const FrArg args[] = {
#if N_ARRAYS > 1
    A("a0", FR_IN),  A("a1", FR_IN),
#endif
#if N_ARRAYS > 3
    A("a2", FR_IN),  A("a3", FR_IN), A("a4", FR_IN), A("a5", FR_IN), A("a6", FR_IN), A("a7", FR_IN), A("a8", FR_IN),
#endif
    A("out", FR_OUT)};
static const FrSymbol symbols[] = {
    {.size = sizeof(FrSymbol), .name = "N", .source = FR_SYMBOL_EXTENT, .axis = 0, .arg = 0}};

static int32_t run(void* state, const FrCall* call) {
  (void)state;
  *(double*)call->args[N_ARRAYS - 1] = (double)call->symbols[0];
  return FR_OK;
}

const FrModule ferrule_module_v1 = {.magic = FR_ABI_MAGIC,
                                    .size = sizeof(FrModule),
                                    .major = FR_ABI_MAJOR,
                                    .minor = FR_ABI_MINOR,
                                    .flags = FR_MODULE_STATELESS,
                                    .name = "kernel",
                                    .n_args = N_ARRAYS,
                                    .n_symbols = 1,
                                    .args = args,
                                    .symbols = symbols,
                                    .work = {code, 2},
                                    .run = run,
                                    .n_positional = N_ARRAYS};
