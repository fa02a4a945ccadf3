#include <fmt/format.h>

#include "base/entries.h"
#include "base/error.h"
#include "call/plan.h"

namespace ferrule {
namespace {

Error contradiction(const CallPlan& plan, const ArgPlan& arg, std::string_view what) {
  return Error(ErrorKind::Incompatible, fmt::format("'{}' contradicts itself: '{}' {}; build it again.",
                                                    plan.module->name, arg.declared->name, what));
}

void check_record(const CallPlan& plan, const ArgPlan& arg) {
  const FrRecord* record = arg.record;
  if (record == nullptr || record->size < sizeof(FrRecord) || record->bytes == 0 || record->n_fields == 0 ||
      record->fields == nullptr || record->fields->size < sizeof(FrField) || record->alignment == 0)
    throw contradiction(plan, arg, "is a struct without fields");
  for (uint32_t i = 0; i < record->n_fields; ++i) {
    const FrField& f = entry_at(record->fields, i);
    const bool number = f.dtype < kElementTypeCount && item_size(static_cast<DType>(f.dtype)) > 0;
    if (f.name == nullptr || !number || f.offset > record->bytes ||
        f.count > (record->bytes - f.offset) / static_cast<uint32_t>(item_size(static_cast<DType>(f.dtype))))
      throw contradiction(plan, arg, "is a struct with a field outside of it");
  }
}

CallbackPlan::Parameter plan_parameter(const CallPlan& plan, const ArgPlan& arg, const FrArg& p) {
  const bool kind = p.kind == FR_ARG_SCALAR || p.kind == FR_ARG_ARRAY || p.kind == FR_ARG_OBJECT;
  const auto dtype = static_cast<DType>(p.dtype);
  const bool object = p.kind == FR_ARG_OBJECT;
  if (!kind || p.name == nullptr || p.rank > FR_MAX_RANK || p.dtype >= kElementTypeCount ||
      (!object && (dtype == DType::Object || dtype == DType::Record)) ||
      (p.kind == FR_ARG_ARRAY && p.rank > 0 && p.extents == nullptr))
    throw contradiction(plan, arg, "has a parameter that callbacks do not take");
  CallbackPlan::Parameter made{&p, p.kind, dtype, (p.intent & FR_OUT) != 0, {}};
  for (int axis = 0; p.kind == FR_ARG_ARRAY && axis < p.rank; ++axis)
    made.extents.push_back(PostfixExpr::make(p.extents[axis], *plan.module));
  return made;
}

CallbackPlan plan_callback(const CallPlan& plan, const ArgPlan& arg) {
  const FrCallback* c = arg.declared->callback;
  if (c == nullptr || c->size < sizeof(FrCallback) || c->result_dtype >= kElementTypeCount ||
      static_cast<DType>(c->result_dtype) == DType::Record ||
      (c->n_params > 0 && (c->params == nullptr || c->params->size < sizeof(FrArg))))
    throw contradiction(plan, arg, "is a callback of unknown parameters");
  CallbackPlan made{{}, c->has_result != 0, static_cast<DType>(c->result_dtype)};
  for (uint32_t i = 0; i < c->n_params; ++i)
    made.parameters.push_back(plan_parameter(plan, arg, entry_at(c->params, i)));
  return made;
}

}  // namespace

void plan_kind(CallPlan& plan, ArgPlan& arg) {
  arg.alignment = is_complex(arg.dtype) ? arg.item / 2 : arg.item;
  arg.callback = -1;
  const bool element = arg.kind == FR_ARG_ARRAY || arg.kind == FR_ARG_RECORD;
  if ((arg.kind == FR_ARG_RECORD) != (arg.dtype == DType::Record) && arg.kind != FR_ARG_ARRAY)
    throw contradiction(plan, arg, "has a dtype that its kind does not have");
  if (element && arg.dtype == DType::Record) {
    arg.record = arg.declared->record;
    check_record(plan, arg);
    arg.item = static_cast<int32_t>(arg.record->bytes);
    arg.alignment = static_cast<int32_t>(arg.record->alignment);
  }
  if (arg.kind == FR_ARG_SCALAR && (arg.dtype == DType::Object || is_float8(arg.dtype)))
    throw contradiction(plan, arg, "is a scalar of a dtype that only arrays have");
  if (arg.kind == FR_ARG_POINTERS && (arg.dtype == DType::Object || arg.dtype == DType::Record))
    throw contradiction(plan, arg, "points to no numbers");
  if (arg.kind == FR_ARG_CALLBACK) {
    arg.callback = static_cast<int32_t>(plan.callbacks.size());
    plan.callbacks.push_back(plan_callback(plan, arg));
  }
  plan.needs_python |= arg.kind > FR_ARG_STATIC || arg.dtype == DType::Record || arg.dtype == DType::Object;
}

}  // namespace ferrule
