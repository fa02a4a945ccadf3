/* half(x: float64[N]) -> float64[N], float64, x, float64[run time]: what it does stands in its text, for the host. */
#include "module.h"

static const FrExpr n[] = {EXPR(SYM(0))};
static const FrArg args[] = {ARRAY("x", FR_F64, 1, FR_IN, FR_LAYOUT_C, n, 0)};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn),
     .name = "",
     .kind = FR_RETURN_ARRAY,
     .dtype = FR_F64,
     .rank = 1,
     .arg = -1,
     .extents = n},
    {.size = sizeof(FrReturn), .name = "", .kind = FR_RETURN_SCALAR, .dtype = FR_F64, .arg = -1},
    {.size = sizeof(FrReturn), .name = "", .kind = FR_RETURN_ARGUMENT, .arg = 0},
    {.size = sizeof(FrReturn), .name = "", .kind = FR_RETURN_DYNAMIC, .dtype = FR_F64, .rank = 1, .arg = -1}};
static const FrFact facts[] = {{"target", "reference"}};

static const char text[] = "the program";
static const int32_t sites[] = {4, 2};

static int32_t run(void* state, const FrCall* call) {
  const FrProgram program = {sizeof(FrProgram), COUNT(sites), text, sizeof(text) - 1, sites};
  (void)state;
  return call->host->evaluate(call, &program);
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("half", FR_MODULE_STATELESS | FR_MODULE_ALIAS_SAFE),
                                    ARGS(args, 1),
                                    SYMBOLS(symbols),
                                    RETURNS(returns),
                                    FACTS(facts),
                                    .run = run};
