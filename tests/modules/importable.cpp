// The descriptor of a module that Python may import too: doubled(x) -> 2 * x over float64[N].
#include "ferrule/abi.h"
#include "ferrule/rt/import.h"

namespace {

constexpr int64_t code[] = {FR_X_SYMBOL, 0};
constexpr FrExpr extents[] = {{code, 2}};
constexpr FrArg args[] = {
    {sizeof(FrArg), 0, "x", FR_ARG_ARRAY, FR_F64, 1, FR_IN, FR_LAYOUT_C, 0, 0, 0, extents, nullptr, -1, 0, nullptr}};
constexpr FrSymbol symbols[] = {{sizeof(FrSymbol), 0, "N", FR_SYMBOL_EXTENT, 0, 0, 0, {nullptr, 0}}};
constexpr FrReturn returns[] = {{sizeof(FrReturn), 0, "y", FR_RETURN_ARRAY, FR_F64, 1, 0, -1, extents}};

int32_t run(void*, const FrCall* call) {
  const double* x = static_cast<const double*>(call->args[0]);
  double* y = static_cast<double*>(call->args[1]);
  for (int64_t i = 0; i < call->symbols[0]; ++i) y[i] = 2 * x[i];
  return FR_OK;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const FrModule ferrule_module_v1 = {FR_ABI_MAGIC,
                                                                                      sizeof(FrModule),
                                                                                      FR_ABI_MAJOR,
                                                                                      FR_ABI_MINOR,
                                                                                      FR_MODULE_STATELESS,
                                                                                      "doubled",
                                                                                      "feedface",
                                                                                      1,
                                                                                      1,
                                                                                      1,
                                                                                      0,
                                                                                      0,
                                                                                      0,
                                                                                      args,
                                                                                      symbols,
                                                                                      returns,
                                                                                      nullptr,
                                                                                      nullptr,
                                                                                      nullptr,
                                                                                      {nullptr, 0},
                                                                                      {nullptr, 0},
                                                                                      nullptr,
                                                                                      run,
                                                                                      nullptr,
                                                                                      nullptr,
                                                                                      1,
                                                                                      0};

FR_IMPORTABLE(doubled)
