#include "program/promote.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace ferrule {
namespace {

bool is_signed(DType d) { return kind_of(d) == DTypeKind::Signed; }
bool is_unsigned(DType d) { return kind_of(d) == DTypeKind::Unsigned; }
bool is_integral(DType d) { return d == DType::Bool || is_integer(d); }

// The narrowest float that holds every value of a bool or an integer of this dtype (float64 for 64 bits).
DType float_of(DType d) {
  if (!is_integral(d)) return d;
  if (item_size(d) == 1) return DType::F16;
  return item_size(d) == 2 ? DType::F32 : DType::F64;
}

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return item_size(a) >= item_size(b) ? a : b;
  const DType with_sign = is_signed(a) ? a : b;
  const DType without = is_signed(a) ? b : a;
  if (item_size(with_sign) > item_size(without)) return with_sign;
  switch (item_size(without)) {
    case 1:
      return DType::I16;
    case 2:
      return DType::I32;
    case 4:
      return DType::I64;
    default:
      return DType::F64;
  }
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (item_size(a) == 2 && item_size(b) == 2) return DType::F32;  // float16 with bfloat16
  return item_size(a) >= item_size(b) ? a : b;
}

// bfloat16 holds every int8 and uint8, as float16 does, and counts as the wider range.
DType promote_integral_with_float(DType integral, DType floating) {
  if (integral == DType::Bool || item_size(integral) == 1) return floating;
  return promote_floats(float_of(integral), floating);
}

enum class WeakKind { Bool, Int, Float, Complex };

WeakKind weak_kind(DType d) {
  if (d == DType::Bool) return WeakKind::Bool;
  if (is_integer(d)) return WeakKind::Int;
  return is_complex(d) ? WeakKind::Complex : WeakKind::Float;
}

Error no_loop(ElementOp op, std::span<const DType> operands) {
  std::string list;
  for (const DType d : operands) list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(d));
  return user_error(
      fmt::format("'{}' is not defined for {}; cast the operands to a dtype that it takes.", info(op).name, list),
      Builtin::Type);
}

// Operands of one operation while a rule looks at them.
struct Inference {
  ElementOp op;
  std::span<const OperandType> given;
  std::vector<DType> dtypes;  // weak operands resolved against the strong ones
  DType common;
  bool weak;

  Error refused() const { return no_loop(op, dtypes); }

  OpTypes all(DType operand, DType result) const { return {std::vector<DType>(dtypes.size(), operand), result, weak}; }
  OpTypes all(DType dtype) const { return all(dtype, dtype); }

  // NumPy takes the first of its float loops to which each operand casts safely.
  DType common_float() const {
    DType result = float_of(dtypes[0]);
    for (const DType d : dtypes) result = promote(result, float_of(d));
    return result;
  }
};

// int8, uint8 and bool count as float16 for NumPy; where the result does not show it, float32 has the same values.
DType visible_float(DType d, DType original) { return d == DType::F16 && is_integral(original) ? DType::F32 : d; }

OpTypes infer_number(const Inference& in) {
  if (in.common == DType::Bool) return in.all(in.weak ? DType::I64 : DType::I8);
  return in.all(in.common);
}

OpTypes infer_same(const Inference& in) {
  // Python's arithmetic turns its booleans into integers; NumPy's add and multiply are logical.
  const bool arithmetic = in.op == ElementOp::add || in.op == ElementOp::multiply || in.op == ElementOp::absolute;
  if (in.common == DType::Bool && in.weak && arithmetic) return in.all(DType::I64);
  return in.all(in.common);
}

OpTypes infer_no_bool(const Inference& in) {
  if (in.common != DType::Bool) return in.all(in.common);
  if (in.weak && in.op != ElementOp::sign) return in.all(DType::I64);
  throw in.refused();
}

OpTypes infer_true_divide(const Inference& in) {
  if (std::all_of(in.dtypes.begin(), in.dtypes.end(), is_integral)) return in.all(DType::F64);
  return in.all(in.common_float());
}

OpTypes infer_ldexp(const Inference& in) {
  const DType exponent = in.dtypes[1];
  if (!is_integral(exponent) || exponent == DType::U64) throw in.refused();
  // A Python integer beside an array has to fit into 32 bits.
  const bool fits = in.given[1].weak && !in.given[0].weak;
  const bool wide = !fits && (item_size(exponent) == 8 || exponent == DType::U32);
  // A Python integer takes the narrowest loop that NumPy has for it.
  const bool narrow = in.given[0].weak && is_integer(in.given[0].dtype) && !in.given[1].weak && exponent != DType::Bool;
  const DType x = narrow ? DType::F16 : float_of(in.dtypes[0]);
  return {{x, wide ? DType::I64 : DType::I32}, x, in.weak};
}

OpTypes infer_compare(const Inference& in) {
  const DType a = in.dtypes[0], b = in.dtypes[1];
  if (is_signed(a) && b == DType::U64) return {{DType::I64, DType::U64}, DType::Bool, in.weak};
  if (is_signed(b) && a == DType::U64) return {{DType::U64, DType::I64}, DType::Bool, in.weak};
  return in.all(in.common, DType::Bool);
}

OpTypes infer_bitwise(const Inference& in) {
  if (!is_integral(in.common)) throw in.refused();
  if (in.common == DType::Bool && in.weak && in.op == ElementOp::invert) return in.all(DType::I64);
  return in.all(in.common);
}

OpTypes infer_rule(const Inference& in) {
  switch (info(in.op).rule) {
    case DTypeRule::Same:
      return infer_same(in);
    case DTypeRule::SameNoBool:
      return infer_no_bool(in);
    case DTypeRule::Number:
      return infer_number(in);
    case DTypeRule::Integer:
      if (!is_integer(in.common)) throw in.refused();
      return in.all(in.common);
    case DTypeRule::TrueDivide:
      return infer_true_divide(in);
    case DTypeRule::FloatPower:
      return in.all(is_complex(in.common) ? DType::C128 : DType::F64);
    case DTypeRule::Float:
      return in.all(in.common_float());
    case DTypeRule::FloatToI32:
      return in.all(visible_float(in.common_float(), in.common), DType::I32);
    case DTypeRule::Ldexp:
      return infer_ldexp(in);
    case DTypeRule::Rounding:
      if (is_complex(in.common)) throw in.refused();
      return in.all(in.common);
    case DTypeRule::Select:
      return {{DType::Bool, in.common, in.common}, in.common, in.weak};
    case DTypeRule::Compare:
      return infer_compare(in);
    case DTypeRule::Logical:
      return in.all(DType::Bool);
    case DTypeRule::Bitwise:
      return infer_bitwise(in);
    case DTypeRule::Shift:
      if (in.common == DType::Bool) return in.all(in.weak ? DType::I64 : DType::I8);
      if (!is_integer(in.common)) throw in.refused();
      return in.all(in.common);
    case DTypeRule::BitCount:
      if (!is_integral(in.common)) throw in.refused();
      return in.all(in.common == DType::Bool ? DType::I8 : in.common, DType::U8);
    case DTypeRule::Predicate:
      return in.all(in.common, DType::Bool);
    case DTypeRule::FloatPredicate:
      if (is_complex(in.common)) throw in.refused();
      return in.all(visible_float(in.common_float(), in.common), DType::Bool);
    case DTypeRule::Sum:
      break;
  }
  throw internal_error(fmt::format("'{}' has the dtype rule of a reduction.", info(in.op).name));
}

// Which operands decide the common dtype: the condition of a select and the exponent of a ldexp do not.
bool joins_common(DTypeRule rule, size_t index) {
  if (rule == DTypeRule::Select) return index != 0;
  return rule != DTypeRule::Ldexp || index == 0;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_complex(a) || is_complex(b)) {
    const DType other = is_complex(a) ? b : a;
    const bool wide = a == DType::C128 || b == DType::C128 || (!is_complex(other) && float_of(other) == DType::F64);
    return wide ? DType::C128 : DType::C64;
  }
  if (is_integer(a)) return promote_integral_with_float(a, b);
  if (is_integer(b)) return promote_integral_with_float(b, a);
  return promote_floats(a, b);
}

OperandType promote(std::span<const OperandType> operands) {
  std::optional<DType> strong;
  std::optional<DType> weak;
  for (const OperandType& operand : operands) {
    std::optional<DType>& joined = operand.weak ? weak : strong;
    joined = joined ? promote(*joined, operand.dtype) : operand.dtype;
  }
  if (!strong) return {weak.value_or(DType::F64), true};
  if (!weak || weak_kind(*weak) <= weak_kind(*strong)) return {*strong, false};
  switch (weak_kind(*weak)) {
    case WeakKind::Bool:
      return {*strong, false};
    case WeakKind::Int:
      return {DType::I64, false};
    case WeakKind::Float:
      return {DType::F64, false};
    case WeakKind::Complex:
      break;
  }
  // A Python complex takes the precision of a float, double for anything else.
  return {is_float(*strong) && *strong != DType::F64 ? DType::C64 : DType::C128, false};
}

OpTypes infer(ElementOp op, std::span<const OperandType> operands) {
  const ElementOpInfo& row = info(op);
  if (static_cast<int>(operands.size()) != row.arity)
    throw user_error(fmt::format("'{}' takes {} operands, got {}.", row.name, row.arity, operands.size()),
                     Builtin::Type);
  std::vector<OperandType> joined;
  for (size_t i = 0; i < operands.size(); ++i)
    if (joins_common(row.rule, i)) joined.push_back(operands[i]);
  const OperandType common = promote(joined);
  Inference in{op, operands, {}, common.dtype, true};
  for (size_t i = 0; i < operands.size(); ++i) {
    in.weak = in.weak && operands[i].weak;
    in.dtypes.push_back(operands[i].weak && joins_common(row.rule, i) ? common.dtype : operands[i].dtype);
  }
  OpTypes types = infer_rule(in);
  for (const DType d : types.operands)
    if (!is_computable(d))
      throw unsupported(fmt::format("Ferrule does not compute '{}' in {} yet; cast the operands to float32 or float64.",
                                    row.name, name_of(d)));
  return types;
}

DType infer(ReduceOp op, DType operand) {
  const ReduceOpInfo& row = info(op);
  const auto result = [&]() -> DType {
    switch (row.rule) {
      case DTypeRule::Sum:
        if (operand == DType::Bool || is_signed(operand)) return DType::I64;
        return is_unsigned(operand) ? DType::U64 : operand;
      case DTypeRule::Logical:
        return DType::Bool;
      case DTypeRule::Bitwise:
        if (!is_integral(operand))
          throw user_error(fmt::format("'{}' is not defined for {}.", row.name, name_of(operand)), Builtin::Type);
        return operand;
      case DTypeRule::Same:
        return operand;
      default:
        throw internal_error(fmt::format("'{}' has the dtype rule of an element-wise operation.", row.name));
    }
  }();
  if (!is_computable(operand) || !is_computable(result))
    throw unsupported(fmt::format("Ferrule does not compute '{}' of {} yet; cast the operand to float32 or float64.",
                                  row.name, name_of(operand)));
  return result;
}

}  // namespace ferrule
