/* weigh(x): the sum of position * x over an array of element type TYPE/DTYPE (given by -D), of RANK 0 to 3 axes and any
   strides, positions counted from 1 in C order; returned in double. Wrong strides or offsets give another number. */
#include "module.h"

#ifndef RANK
#define RANK 1
#endif
#ifndef REAL
#define REAL(v) ((double)(v))
#endif

static const FrExpr extents[] = {EXPR(SYM(0)), EXPR(SYM(1)), EXPR(SYM(2)), EXPR(CONST(0))};
static const FrExpr strides[] = {EXPR(SYM(RANK)), EXPR(SYM(RANK + 1)), EXPR(SYM(RANK + 2)), EXPR(CONST(0))};
static const FrArg args[] = {ARRAY("x", DTYPE, RANK, FR_IN, FR_LAYOUT_ANY, extents, strides)};
static const FrSymbol symbols[] = {
#if RANK > 0
    EXTENT("N", 0, 0),
#endif
#if RANK > 1
    EXTENT("M", 0, 1),
#endif
#if RANK > 2
    EXTENT("K", 0, 2),
#endif
#if RANK > 0
    STRIDE("x.strides[0]", 0, 0),
#endif
#if RANK > 1
    STRIDE("x.strides[1]", 0, 1),
#endif
#if RANK > 2
    STRIDE("x.strides[2]", 0, 2),
#endif
};
static const FrReturn returns[] = {
    {.size = sizeof(FrReturn), .flags = FR_RETURN_WEAK, .name = "sum", .kind = FR_RETURN_SCALAR, .dtype = FR_F64}};

static int32_t run(void* state, const FrCall* call) {
  const TYPE* x = call->args[0];
  const int64_t* s = call->symbols;
  int64_t n[3] = {1, 1, 1}, step[3] = {0, 0, 0};
  double sum = 0, position = 0;
  (void)state;
  for (int axis = 0; axis < RANK; ++axis) {
    n[axis] = s[axis];
    step[axis] = s[RANK + axis];
  }
  for (int64_t i = 0; i < n[0]; ++i)
    for (int64_t j = 0; j < n[1]; ++j)
      for (int64_t k = 0; k < n[2]; ++k) sum += ++position * REAL(x[i * step[0] + j * step[1] + k * step[2]]);
  *(double*)call->args[1] = sum;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {MODULE_HEAD("weigh", FR_MODULE_STATELESS), ARGS(args, 1), SYMBOLS(symbols),
                                    RETURNS(returns), .run = run};
