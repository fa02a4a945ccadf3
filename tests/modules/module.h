/* Short forms for the descriptors of the hand-written modules of this folder. Only ferrule/abi.h is needed besides. */
#ifndef FERRULE_TESTS_MODULE_H
#define FERRULE_TESTS_MODULE_H

#include "ferrule/abi.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))
#define CODE(...) ((const int64_t[]){__VA_ARGS__})
#define EXPR(...) {CODE(__VA_ARGS__), COUNT(CODE(__VA_ARGS__))}
#define SYM(i) FR_X_SYMBOL, i
#define CONST(v) FR_X_CONST, v

#define ARRAY(name_, dtype_, rank_, intent_, layout_, extents_, strides_) \
  {.size = sizeof(FrArg),                                                 \
   .name = name_,                                                         \
   .kind = FR_ARG_ARRAY,                                                  \
   .dtype = dtype_,                                                       \
   .rank = rank_,                                                         \
   .intent = intent_,                                                     \
   .layout = layout_,                                                     \
   .extents = extents_,                                                   \
   .strides = strides_,                                                   \
   .symbol = -1}
#define SCALAR(name_, dtype_, flags_, symbol_, default_) \
  {.size = sizeof(FrArg),                                \
   .flags = flags_,                                      \
   .name = name_,                                        \
   .kind = FR_ARG_SCALAR,                                \
   .dtype = dtype_,                                      \
   .intent = FR_IN,                                      \
   .symbol = symbol_,                                    \
   .default_text = default_}
#define EXTENT(name_, arg_, axis_) \
  {.size = sizeof(FrSymbol), .name = name_, .source = FR_SYMBOL_EXTENT, .axis = axis_, .arg = arg_}
#define STRIDE(name_, arg_, axis_) \
  {.size = sizeof(FrSymbol), .flags = 1, .name = name_, .source = FR_SYMBOL_STRIDE, .axis = axis_, .arg = arg_}

/* The beginning of a descriptor: everything up to the tables. */
#define MODULE_HEAD(name_, flags_)                                                                                \
  .magic = FR_ABI_MAGIC, .size = sizeof(FrModule), .major = FR_ABI_MAJOR, .minor = FR_ABI_MINOR, .flags = flags_, \
  .name = name_, .digest = "0123456789abcdef"
#define ARGS(table, positional) .n_args = COUNT(table), .args = table, .n_positional = positional
#define SYMBOLS(table) .n_symbols = COUNT(table), .symbols = table
#define RETURNS(table) .n_returns = COUNT(table), .returns = table
#define GUARDS(table) .n_guards = COUNT(table), .guards = table
#define ALIAS(table) .n_alias = COUNT(table), .alias = table
#define FACTS(table) .n_facts = COUNT(table), .facts = table

#endif
