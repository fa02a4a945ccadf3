/* A module with one thing wrong, chosen by -DBREAK_...: for the loader's checks. */
#include "module.h"

#ifndef SECOND_SIZE
#define SECOND_SIZE sizeof(FrArg)
#endif
#ifndef FIRST_SIZE
#define FIRST_SIZE sizeof(FrArg)
#endif

static const FrArg args[] = {{.size = FIRST_SIZE, .name = "n", .kind = FR_ARG_SCALAR, .dtype = FR_I64, .symbol = -1},
                             {.size = SECOND_SIZE, .name = "m", .kind = FR_ARG_SCALAR, .dtype = FR_I64, .symbol = -1}};
#ifdef BREAK_FEATURES
static const FrFact facts[] = {{"features", "avx2,flux-capacitor"}};
#else
static const FrFact facts[] = {{"features", ""}};
#endif

#ifdef BREAK_EXPRESSION
static const FrGuard guards[] = {{EXPR(SYM(7)), "nothing", 0, 0}};
#else
static const FrGuard guards[] = {{EXPR(CONST(1)), "1", 0, 0}};
#endif

static int32_t run(void* state, const FrCall* call) {
  (void)state;
  (void)call;
  return FR_OK;
}

const FrModule ferrule_module_v1 = {
#ifdef BREAK_MAGIC
    .magic = 1,
#else
    .magic = FR_ABI_MAGIC,
#endif
#ifdef BREAK_SIZE
    .size = sizeof(FrModule) - 8,
#else
    .size = sizeof(FrModule),
#endif
#ifdef BREAK_MAJOR
    .major = FR_ABI_MAJOR + 1,
#else
    .major = FR_ABI_MAJOR,
#endif
    .minor = 7, /* a later minor version is fine */
    .flags = FR_MODULE_STATELESS,
    .name = "broken",
#ifdef BREAK_TABLE
    .n_args = 2,
#else
    ARGS(args, 2),
#endif
    GUARDS(guards),
    FACTS(facts),
#ifndef BREAK_RUN
    .run = run,
#endif
};
