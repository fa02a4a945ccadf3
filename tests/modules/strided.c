/* fill(x, value=1.0): writes value to every element of a float64[N, M] array of any strides and returns x itself;
   column(x): is inner-contiguous along axis 0. Exercises ANY and INNER. */
#include "module.h"

static const FrExpr nm[] = {EXPR(SYM(0)), EXPR(SYM(1))};
static const FrExpr strides[] = {EXPR(SYM(2)), EXPR(SYM(3))};
static const FrExpr inner_strides[] = {EXPR(CONST(1)), EXPR(SYM(4))};
static const FrArg args[] = {ARRAY("x", FR_F64, 2, FR_OUT, FR_LAYOUT_ANY, nm, strides),
                             {.size = sizeof(FrArg),
                              .flags = FR_ARG_OPTIONAL,
                              .name = "inner",
                              .kind = FR_ARG_ARRAY,
                              .dtype = FR_F64,
                              .rank = 2,
                              .intent = FR_IN,
                              .layout = FR_LAYOUT_INNER,
                              .inner_axis = 0,
                              .extents = nm,
                              .strides = inner_strides,
                              .symbol = -1,
                              .default_text = "None"},
                             SCALAR("value", FR_F64, FR_ARG_KEYWORD_ONLY, -1, "1.0")};
static const FrSymbol symbols[] = {EXTENT("N", 0, 0), EXTENT("M", 0, 1), STRIDE("x.strides[0]", 0, 0),
                                   STRIDE("x.strides[1]", 0, 1), STRIDE("inner.strides[1]", 1, 1)};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .name = "x", .kind = FR_RETURN_ARGUMENT, .dtype = FR_F64, .rank = 2, .arg = 0}};

static int32_t run(void* state, const FrCall* call) {
  double* x = call->args[0];
  const double* inner = call->args[1];
  const double value = *(const double*)call->args[2];
  const int64_t* s = call->symbols;
  (void)state;
  for (int64_t i = 0; i < s[0]; ++i)
    for (int64_t j = 0; j < s[1]; ++j) x[i * s[2] + j * s[3]] = value + (inner ? inner[i + j * s[4]] : 0.0);
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("fill", FR_MODULE_STATELESS), ARGS(args, 2), SYMBOLS(symbols),
                                    RETURNS(returns), .run = run};
