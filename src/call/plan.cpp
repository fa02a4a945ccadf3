#include "call/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/entries.h"
#include "base/error.h"
#include "call/frame.h"
#include "load/module.h"

namespace ferrule {
namespace {

Error contradiction(const FrModule& module, std::string_view what) {
  return Error(ErrorKind::Incompatible, fmt::format("'{}' contradicts itself: {}; build it again.", module.name, what));
}

ArgPlan plan_argument(const FrModule& module, uint32_t i) {
  const FrArg& a = entry_at(module.args, i);
  if (a.name == nullptr || a.dtype >= kElementTypeCount || a.rank > FR_MAX_RANK || a.kind > FR_ARG_POINTERS)
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
  p.written = (a.kind == FR_ARG_ARRAY || a.kind == FR_ARG_POINTERS) && (a.intent & FR_OUT) != 0;
  p.optional = (a.flags & FR_ARG_OPTIONAL) != 0;
  p.hidden = (a.flags & FR_ARG_HIDDEN) != 0;
  p.weak = (a.flags & FR_ARG_WEAK) != 0;
  p.symbol = -1;
  if (p.kind == FR_ARG_ARRAY && p.rank > 0 && a.extents == nullptr)
    throw contradiction(module, fmt::format("'{}' has no extents", a.name));
  if (p.layout > FR_LAYOUT_ANY || (p.layout == FR_LAYOUT_INNER && p.inner_axis >= p.rank))
    throw contradiction(module, fmt::format("'{}' has no such layout", a.name));
  if (p.hidden && p.kind != FR_ARG_ARRAY)
    throw contradiction(module, fmt::format("'{}' is hidden but no array", a.name));
  return p;
}

size_t source_of(const CallPlan& plan, int32_t symbol) {
  return static_cast<size_t>(entry_at(plan.module->symbols, static_cast<uint32_t>(symbol)).arg);
}

bool of_array(const FrSymbol& symbol) { return symbol.source == FR_SYMBOL_EXTENT || symbol.source == FR_SYMBOL_STRIDE; }

// Scalars and explicit values; symbols of arrays are checked here and become steps below.
void plan_symbols(CallPlan& plan) {
  const FrModule& module = *plan.module;
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (symbol.source == FR_SYMBOL_EXPLICIT) {
      plan.explicit_symbols.push_back(static_cast<int32_t>(s));
      continue;
    }
    if (symbol.source == FR_SYMBOL_DERIVED) {
      Derived derived{static_cast<int32_t>(s), (symbol.flags & 1) != 0, PostfixExpr::make(symbol.solve, module)};
      for (const int32_t needed : derived.expr.symbols())
        if (needed >= derived.symbol)
          throw contradiction(module, fmt::format("symbol '{}' is made from one that follows it", symbol.name));
      plan.derived.push_back(std::move(derived));
      continue;
    }
    if (symbol.source > FR_SYMBOL_EXPLICIT || symbol.arg < 0 || static_cast<uint32_t>(symbol.arg) >= module.n_args)
      throw contradiction(module, fmt::format("symbol '{}' comes from a missing argument", symbol.name));
    ArgPlan& arg = plan.args[static_cast<size_t>(symbol.arg)];
    if (of_array(symbol)) {
      if (arg.kind != FR_ARG_ARRAY || symbol.axis >= arg.rank)
        throw contradiction(module, fmt::format("symbol '{}' comes from no axis", symbol.name));
      continue;
    }
    if (arg.kind != FR_ARG_SCALAR || !is_integer(arg.dtype))
      throw contradiction(module, fmt::format("symbol '{}' comes from no integer", symbol.name));
    arg.symbol = static_cast<int32_t>(s);
  }
}

// The steps that define symbols from this argument.
void plan_defines(CallPlan& plan, const ArgPlan& arg) {
  const FrModule& module = *plan.module;
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (!of_array(symbol) || symbol.arg != arg.index) continue;
    const bool stride = symbol.source == FR_SYMBOL_STRIDE;
    Step step{stride ? Step::Kind::DefineStride : Step::Kind::DefineExtent, symbol.axis, static_cast<int32_t>(s), -1};
    if (symbol.solve.count != 0) {
      step.kind = Step::Kind::Solve;
      step.index = static_cast<int32_t>(plan.solves.size());
      plan.solves.push_back({stride, (symbol.flags & 1) != 0, PostfixExpr::make_solve(symbol.solve, module)});
    }
    plan.steps.push_back(step);
  }
}

// What the declared extents and strides of this argument demand. A plain symbol that this axis defines needs no check,
// one that an earlier step defined is compared on the way; everything else waits until all symbols are known.
void plan_checks(CallPlan& plan, const ArgPlan& arg, size_t first_own) {
  const bool strided = arg.layout >= FR_LAYOUT_INNER && arg.declared->strides != nullptr;
  for (const bool stride : {false, true}) {
    if (stride && !strided) continue;
    for (int32_t axis = 0; axis < arg.rank; ++axis) {
      const FrExpr& code = stride ? arg.declared->strides[axis] : arg.declared->extents[axis];
      if (code.count == 0) continue;
      Check check{arg.index, static_cast<uint8_t>(axis), stride, PostfixExpr::make(code, *plan.module)};
      const int32_t symbol = check.expected.symbol();
      const auto defines = [&](const Step& step) {
        return step.symbol == symbol && step.kind != Step::Kind::CheckExtent && step.kind != Step::Kind::CheckGuard;
      };
      const auto defined = std::find_if(plan.steps.begin(), plan.steps.end(), defines);
      const bool known = symbol >= 0 && defined != plan.steps.end();
      const bool own = known && static_cast<size_t>(defined - plan.steps.begin()) >= first_own;
      const auto kind = stride ? Step::Kind::DefineStride : Step::Kind::DefineExtent;
      if (own && defined->axis == axis && defined->kind == kind) continue;
      const auto index = static_cast<int32_t>(plan.checks.size());
      plan.checks.push_back(std::move(check));
      // A step of an optional argument may never run, so that nothing it defines is compared on the way.
      const bool early = known && !stride && (own || !plan.args[source_of(plan, symbol)].optional);
      if (early)
        plan.steps.push_back({Step::Kind::CheckExtent, static_cast<uint8_t>(axis), symbol, index});
      else
        plan.late_checks.push_back(index);
    }
  }
}

// Guards that say that the extents of two axes are equal are made as soon as the later of the two is known, unless its
// declared extent says the same. Steps of an optional argument may never run: what they define is left to the end. Sets
// `made` for each guard that needs no more.
void plan_guards(CallPlan& plan, const ArgPlan& arg, size_t first_own, std::vector<bool>& made) {
  const size_t n_defines = plan.steps.size();
  for (size_t g = 0; g < plan.guards.size(); ++g) {
    const auto [a, b] = plan.guards[g].condition.equal_symbols();
    if (a < 0 || a == b) continue;
    size_t of_a = n_defines, of_b = n_defines;
    for (size_t i = 0; i < n_defines; ++i) {
      if (plan.steps[i].kind != Step::Kind::DefineExtent) continue;
      if (plan.steps[i].symbol == a) of_a = i;
      if (plan.steps[i].symbol == b) of_b = i;
    }
    const size_t later = std::max(of_a, of_b);
    if (later == n_defines || later < first_own || arg.optional) continue;
    const int32_t earlier = later == of_a ? b : a;
    if (plan.args[source_of(plan, earlier)].optional) continue;
    const uint8_t axis = plan.steps[later].axis;
    const auto says_the_same = [&](const Step& step) {
      return step.kind == Step::Kind::CheckExtent && step.axis == axis && step.symbol == earlier;
    };
    if (std::none_of(plan.steps.begin() + static_cast<ptrdiff_t>(first_own), plan.steps.end(), says_the_same))
      plan.steps.push_back({Step::Kind::CheckGuard, axis, earlier, static_cast<int32_t>(g)});
    made[g] = true;
  }
}

void plan_steps(CallPlan& plan) {
  std::vector<std::pair<size_t, size_t>> ranges;
  std::vector<bool> made(plan.guards.size());
  for (const ArgPlan& arg : plan.args) {
    const size_t first = plan.steps.size();
    if (arg.kind == FR_ARG_ARRAY) {
      plan_defines(plan, arg);
      plan_checks(plan, arg, first);
      plan_guards(plan, arg, first, made);
    }
    ranges.emplace_back(first, plan.steps.size());
  }
  for (ArgPlan& arg : plan.args) {
    arg.steps = plan.steps.data() + ranges[static_cast<size_t>(arg.index)].first;
    arg.steps_end = plan.steps.data() + ranges[static_cast<size_t>(arg.index)].second;
  }
  for (size_t g = 0; g < plan.guards.size(); ++g)
    if (!made[g]) plan.late_guards.push_back(static_cast<int32_t>(g));
}

// Extents that are compared with a symbol may also tell it.
void plan_optional_sources(CallPlan& plan) {
  const FrModule& module = *plan.module;
  for (uint32_t s = 0; s < module.n_symbols; ++s) {
    const FrSymbol& symbol = entry_at(module.symbols, s);
    if (symbol.source != FR_SYMBOL_EXTENT || !plan.args[static_cast<size_t>(symbol.arg)].optional) continue;
    OptionalSource source{static_cast<int32_t>(s), symbol.arg, {}};
    for (const int32_t index : plan.late_checks) {
      const Check& check = plan.checks[static_cast<size_t>(index)];
      if (!check.stride && check.expected.symbol() == source.symbol) source.others.push_back({check.arg, check.axis});
    }
    plan.optional_sources.push_back(std::move(source));
  }
}

void plan_returns(CallPlan& plan) {
  const FrModule& module = *plan.module;
  for (uint32_t i = 0; i < module.n_returns; ++i) {
    const FrReturn& r = entry_at(module.returns, i);
    if (r.kind > FR_RETURN_NONE || r.dtype >= kElementTypeCount || r.rank > FR_MAX_RANK)
      throw contradiction(module, fmt::format("return {} has an unknown kind, dtype or rank", i));
    const bool refers = r.kind == FR_RETURN_ARGUMENT || r.kind == FR_RETURN_VIEW;
    if (refers && (r.arg < 0 || static_cast<uint32_t>(r.arg) >= module.n_args ||
                   plan.args[static_cast<size_t>(r.arg)].kind != FR_ARG_ARRAY))
      throw contradiction(module, fmt::format("return {} refers to no array", i));
    const auto dtype = static_cast<DType>(r.dtype);
    if (r.kind == FR_RETURN_SCALAR && is_float8(dtype))
      throw contradiction(module, fmt::format("return {} is a scalar of a dtype that only arrays have", i));
    if (dtype == DType::Record &&
        (r.record == nullptr || r.record->size < sizeof(FrRecord) || r.record->literal == nullptr))
      throw contradiction(module, fmt::format("return {} is a struct without fields", i));
    if (dtype == DType::Record || dtype == DType::Object) plan.needs_python = plan.involved = true;
    plan.returns.push_back(
        {&r, r.kind, static_cast<DType>(r.dtype), r.rank, r.arg, static_cast<uint32_t>(plan.return_extents.size())});
    if (r.kind == FR_RETURN_ARRAY)
      for (int axis = 0; axis < r.rank; ++axis)
        plan.return_extents.push_back(PostfixExpr::make(r.extents[axis], module));
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

ShortWork plan_short_work(const CallPlan& plan) {
  ShortWork short_work{false, plan.work.symbols(), 0};
  const auto is_short = [&](int64_t size) {
    const std::optional<int64_t> most = plan.work.most(size);
    return most && *most <= kLongWork;
  };
  short_work.known = is_short(0);
  int64_t low = 0, high = kLongWork + 1;  // short at `low`; beyond kLongWork nothing is gained
  while (short_work.known && high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (is_short(middle) ? low : high) = middle;
  }
  short_work.largest = static_cast<uint64_t>(low);
  return short_work;
}

void plan_handle(CallPlan& plan) {
  const FrModule& module = *plan.module;
  for (uint32_t i = 0; i < module.n_workspaces; ++i) {
    const FrWorkspace& w = entry_at(module.workspaces, i);
    if (w.name == nullptr || w.alignment == 0 || (w.alignment & (w.alignment - 1)) != 0)
      throw contradiction(module, fmt::format("workspace {} has no name or no alignment", i));
    plan.workspaces.push_back({&w, PostfixExpr::make(w.bytes, module)});
  }
  for (uint32_t i = 0; i < module.n_persistent; ++i) {
    const int32_t symbol = module.persistent[i];
    if (symbol < 0 || static_cast<uint32_t>(symbol) >= module.n_symbols)
      throw contradiction(module, "a persistent symbol is missing");
    plan.persistent.push_back(symbol);
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
  layout.pointers = take(n_slots * sizeof(void*));
  layout.arrays = take(n_args * sizeof(BoundArray));
  layout.symbols = take((n_symbols + 1) * sizeof(int64_t));
  layout.explicit_given = take(n_symbols * sizeof(ExplicitSymbol));
  layout.extents = take(plan.return_extents.size() * sizeof(int64_t));
  layout.bytes = static_cast<uint32_t>(next);
  return layout;
}

}  // namespace

CallPlan make_plan(const FrModule& module) {
  CallPlan plan;
  plan.module = &module;
  for (uint32_t i = 0; i < module.n_args; ++i) {
    plan.args.push_back(plan_argument(module, i));
    plan_kind(plan, plan.args.back());
  }
  plan_symbols(plan);
  for (uint32_t i = 0; i < module.n_guards; ++i)
    plan.guards.push_back({&module.guards[i], PostfixExpr::make(module.guards[i].condition, module, 1)});
  plan_steps(plan);
  plan_optional_sources(plan);
  plan_returns(plan);
  plan_pairs(plan);
  for (const PairPlan& pair : plan.pairs) plan.args[pair.written].ranged = plan.args[pair.other].ranged = true;
  plan.arena_bytes = PostfixExpr::make(module.arena_bytes, module);
  plan.work = PostfixExpr::make(module.work, module);
  plan.short_work = plan_short_work(plan);
  plan.n_positional = module.n_positional;
  if (plan.n_positional > module.n_args) throw contradiction(module, "more positional arguments than arguments");
  for (uint32_t i = 0; i < plan.n_positional; ++i)
    if (plan.args[i].hidden) throw contradiction(module, "a hidden argument that is given by position");
  plan.stateless = (module.flags & FR_MODULE_STATELESS) != 0;
  plan.plain = plan.explicit_symbols.empty() && plan.derived.empty() && plan.late_checks.empty() &&
               plan.late_guards.empty() && plan.return_extents.empty();
  plan_handle(plan);
  plan.takes_errors = module.take_error != nullptr;
  const bool bare = plan.stateless && plan.workspaces.empty() && !plan.takes_errors;
  plan.direct_alias = bare && plan.arena_bytes.is_zero();
  plan.direct = plan.direct_alias || (bare && (module.flags & FR_MODULE_ARENA_FOR_ALIAS) != 0);
  plan.strict_scalars = (module.flags & FR_MODULE_STRICT_SCALARS) != 0;
  plan.returns_tuple = (module.flags & FR_MODULE_RETURNS_TUPLE) != 0 || module.n_returns > 1;
  plan.return_override = (module.flags & FR_MODULE_RETURN_OVERRIDE) != 0;
  plan.coerces = (module.flags & FR_MODULE_COERCE) != 0;
  plan.involved |= !plan.callbacks.empty() || plan.return_override;
  plan.returns_none = !plan.involved && (plan.returns.empty() || (plan.returns.size() == 1 && !plan.returns_tuple &&
                                                                  plan.returns[0].kind == FR_RETURN_NONE));
  plan.frame = lay_out(plan);
  return plan;
}

}  // namespace ferrule
