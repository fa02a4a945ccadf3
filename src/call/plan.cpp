#include "call/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "call/frame.h"
#include "load/entries.h"

namespace ferrule {
namespace {

Error contradiction(const FrModule& module, std::string_view what) {
  return Error(ErrorKind::Incompatible, fmt::format("'{}' contradicts itself: {}; build it again.", module.name, what));
}

bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }

ArgPlan plan_argument(const FrModule& module, uint32_t i) {
  const FrArg& a = entry_at(module.args, i);
  if (a.name == nullptr || a.dtype >= kDTypeCount || a.rank > FR_MAX_RANK || a.kind > FR_ARG_STATIC)
    throw contradiction(module, fmt::format("argument {} has an unknown kind, dtype or rank", i));
  ArgPlan p{};
  p.declared = &a;
  p.index = static_cast<int32_t>(i);
  p.kind = a.kind;
  p.dtype = static_cast<DType>(a.dtype);
  p.item = item_size(p.dtype);
  p.rank = a.kind == FR_ARG_ARRAY ? a.rank : 0;
  p.layout = a.layout;
  p.inner_axis = a.inner_axis;
  p.written = a.kind == FR_ARG_ARRAY && (a.intent & FR_OUT) != 0;
  p.optional = (a.flags & FR_ARG_OPTIONAL) != 0;
  p.hidden = (a.flags & FR_ARG_HIDDEN) != 0;
  p.weak = (a.flags & FR_ARG_WEAK) != 0;
  p.symbol = -1;
  if (p.kind == FR_ARG_ARRAY && p.rank > 0 && a.extents == nullptr)
    throw contradiction(module, fmt::format("'{}' has no extents", a.name));
  if (p.layout > FR_LAYOUT_ANY || (p.layout == FR_LAYOUT_INNER && p.inner_axis >= p.rank))
    throw contradiction(module, fmt::format("'{}' has no such layout", a.name));
  if (p.kind == FR_ARG_SCALAR && is_half(p.dtype))
    throw unsupported(fmt::format("'{}': the scalar '{}' has dtype {}, which calls do not take; declare float32.",
                                  module.name, a.name, name_of(p.dtype)));
  if (p.hidden && p.kind != FR_ARG_ARRAY)
    throw contradiction(module, fmt::format("'{}' is hidden but no array", a.name));
  return p;
}

// Which symbols each argument defines, grouped by argument in `plan.defines`.
void plan_symbols(CallPlan& plan) {
  const FrModule& module = *plan.module;
  plan.defines.reserve(module.n_symbols);  // at most one a symbol, so that pointers into it stay valid
  for (ArgPlan& arg : plan.args) {
    arg.defines = plan.defines.data() + plan.defines.size();
    for (uint32_t s = 0; s < module.n_symbols; ++s) {
      const FrSymbol& symbol = entry_at(module.symbols, s);
      if (symbol.source == FR_SYMBOL_EXPLICIT || symbol.arg != arg.index) continue;
      const auto number = static_cast<int32_t>(s);
      if (symbol.source == FR_SYMBOL_SCALAR) {
        if (arg.kind != FR_ARG_SCALAR || !is_integer(arg.dtype))
          throw contradiction(module, fmt::format("symbol '{}' comes from no integer", symbol.name));
        arg.symbol = number;
        continue;
      }
      if (arg.kind != FR_ARG_ARRAY || symbol.axis >= arg.rank)
        throw contradiction(module, fmt::format("symbol '{}' comes from no axis", symbol.name));
      plan.defines.push_back({number, symbol.axis, symbol.source == FR_SYMBOL_STRIDE, (symbol.flags & 1) != 0,
                              symbol.solve.count == 0, Expr::make_solve(symbol.solve, module)});
    }
    arg.defines_end = plan.defines.data() + plan.defines.size();
  }
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (symbol.source == FR_SYMBOL_EXPLICIT)
      plan.explicit_symbols.push_back(static_cast<int32_t>(s));
    else if (symbol.arg < 0 || static_cast<uint32_t>(symbol.arg) >= module.n_args)
      throw contradiction(module, fmt::format("symbol '{}' comes from a missing argument", symbol.name));
  }
}

// Whether the axis itself gives the symbol that its declared value is: nothing is left to check then.
bool defined_here(const ArgPlan& arg, const Check& check) {
  return std::any_of(arg.defines, arg.defines_end, [&](const Define& define) {
    return define.plain && define.symbol == check.symbol && define.axis == check.axis && define.stride == check.stride;
  });
}

void plan_checks(CallPlan& plan) {
  for (const ArgPlan& arg : plan.args) {
    if (arg.kind != FR_ARG_ARRAY) continue;
    const bool strided = arg.layout >= FR_LAYOUT_INNER && arg.declared->strides != nullptr;
    for (const bool stride : {false, true}) {
      if (stride && !strided) continue;
      for (int32_t axis = 0; axis < arg.rank; ++axis) {
        const FrExpr& code = stride ? arg.declared->strides[axis] : arg.declared->extents[axis];
        if (code.count == 0) continue;
        Check check{arg.index, static_cast<uint8_t>(axis), stride, -1, Expr::make(code, *plan.module)};
        check.symbol = check.expected.symbol();
        if (!defined_here(arg, check)) plan.checks.push_back(std::move(check));
      }
    }
  }
}

void plan_returns(CallPlan& plan) {
  const FrModule& module = *plan.module;
  for (uint32_t i = 0; i < module.n_returns; ++i) {
    const FrReturn& r = entry_at(module.returns, i);
    if (r.kind > FR_RETURN_NONE || r.dtype >= kDTypeCount || r.rank > FR_MAX_RANK)
      throw contradiction(module, fmt::format("return {} has an unknown kind, dtype or rank", i));
    const bool refers = r.kind == FR_RETURN_ARGUMENT || r.kind == FR_RETURN_VIEW;
    if (refers && (r.arg < 0 || static_cast<uint32_t>(r.arg) >= module.n_args ||
                   plan.args[static_cast<size_t>(r.arg)].kind != FR_ARG_ARRAY))
      throw contradiction(module, fmt::format("return {} refers to no array", i));
    if (r.kind == FR_RETURN_SCALAR && is_half(static_cast<DType>(r.dtype)))
      throw unsupported(fmt::format("'{}' returns a {} scalar, which calls do not give; return float32.", module.name,
                                    name_of(static_cast<DType>(r.dtype))));
    plan.returns.push_back(
        {&r, r.kind, static_cast<DType>(r.dtype), r.rank, r.arg, static_cast<uint32_t>(plan.return_extents.size())});
    if (r.kind == FR_RETURN_ARRAY)
      for (int axis = 0; axis < r.rank; ++axis) plan.return_extents.push_back(Expr::make(r.extents[axis], module));
  }
}

// The pairs that need a test at the call: written arrays against all others, unless `run` allows every overlap. A pair
// of two written arrays may be listed both ways; the stricter class holds.
void plan_pairs(CallPlan& plan) {
  const FrModule& module = *plan.module;
  if ((module.flags & FR_MODULE_ALIAS_SAFE) != 0) return;
  for (const ArgPlan& w : plan.args) {
    if (!w.written) continue;
    for (const ArgPlan& o : plan.args) {
      if (o.kind != FR_ARG_ARRAY || o.index == w.index || (o.written && o.index < w.index)) continue;
      uint32_t allowed = FR_ALIAS_DISJOINT;
      bool listed = false;
      for (uint32_t i = 0; i < module.n_alias; ++i) {
        const FrAliasPair& pair = module.alias[i];
        const bool same = pair.written == w.index && pair.other == o.index;
        const bool turned = o.written && pair.written == o.index && pair.other == w.index;
        if (!same && !turned) continue;
        allowed = listed ? std::min(allowed, pair.allowed) : pair.allowed;
        listed = true;
      }
      if (allowed != FR_ALIAS_ANY)
        plan.pairs.push_back({static_cast<uint16_t>(w.index), static_cast<uint16_t>(o.index), allowed});
    }
  }
}

FrameLayout lay_out(const CallPlan& plan) {
  const size_t n_args = plan.args.size(), n_slots = n_args + plan.returns.size(), n_symbols = plan.module->n_symbols;
  size_t next = n_slots * sizeof(ScalarSlot);  // at offset 0: they need the largest alignment
  const auto take = [&next](size_t bytes) {
    next += bytes;
    return static_cast<uint32_t>(next - bytes);
  };
  FrameLayout layout{};
  layout.ranges = take(n_args * sizeof(Range));
  layout.explicit_given = take(n_symbols * sizeof(ExplicitSymbol));
  layout.pointers = take(n_slots * sizeof(void*));
  layout.shapes = take(n_args * sizeof(void*));
  layout.byte_strides = take(n_args * sizeof(void*));
  layout.symbols = take(n_symbols * sizeof(int64_t));
  layout.extents = take(plan.return_extents.size() * sizeof(int64_t));
  layout.bytes = static_cast<uint32_t>(next);
  return layout;
}

}  // namespace

CallPlan make_plan(const FrModule& module) {
  CallPlan plan;
  plan.module = &module;
  for (uint32_t i = 0; i < module.n_args; ++i) plan.args.push_back(plan_argument(module, i));
  plan_symbols(plan);
  plan_checks(plan);
  plan_returns(plan);
  plan_pairs(plan);
  for (const PairPlan& pair : plan.pairs) plan.args[pair.written].ranged = plan.args[pair.other].ranged = true;
  for (uint32_t i = 0; i < module.n_guards; ++i)
    plan.guards.push_back({&module.guards[i], Expr::make(module.guards[i].condition, module, 1)});
  plan.arena_bytes = Expr::make(module.arena_bytes, module);
  plan.work = Expr::make(module.work, module);
  plan.n_positional = module.n_positional;
  if (plan.n_positional > module.n_args) throw contradiction(module, "more positional arguments than arguments");
  for (uint32_t i = 0; i < plan.n_positional; ++i)
    if (plan.args[i].hidden) throw contradiction(module, "a hidden argument that is given by position");
  plan.stateless = (module.flags & FR_MODULE_STATELESS) != 0;
  plan.direct = plan.stateless && plan.arena_bytes.is_zero();
  plan.strict_scalars = (module.flags & FR_MODULE_STRICT_SCALARS) != 0;
  plan.returns_tuple = (module.flags & FR_MODULE_RETURNS_TUPLE) != 0 || module.n_returns > 1;
  plan.frame = lay_out(plan);
  return plan;
}

}  // namespace ferrule
