#include "quick_call.h"

#include "../common/errors.h"

namespace ferrule::python {

bool may_be_quick(const Target& target) {
  const CallPlan& plan = target.plan();
  const bool simple = plan.plain && plan.direct && plan.returns_none && plan.short_work.known && !target.has_hidden &&
                      !target.overlap_only && target.finish == nullptr;
  const bool small = plan.args.size() < quick::kArgs && plan.returns.size() <= 1 &&
                     plan.module->n_symbols < quick::kSymbols &&
                     target.n_by_position == static_cast<Py_ssize_t>(plan.args.size());
  if (!simple || !small) return false;
  for (const ArgPlan& arg : plan.args) {
    const ArgTarget& own = target.args[static_cast<size_t>(arg.index)];
    const bool array = arg.kind == FR_ARG_ARRAY && own.straight_flags != ArgTarget::kNever;
    const bool number = arg.kind == FR_ARG_SCALAR && (arg.dtype == DType::F64 || arg.dtype == DType::I64 ||
                                                      arg.dtype == DType::I32 || arg.dtype == DType::Bool);
    if (!array && !number) return false;
  }
  return true;
}

void quick::raise(const Target& target, int32_t status, const FrCallCtx& ctx) try {
  raise_failure(target, status, ctx);
} catch (...) {
  raise_current_exception();
}

}  // namespace ferrule::python
