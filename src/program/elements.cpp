#include "program/elements.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "ferrule/rt/ops.h"
#include "ferrule/rt/vmath.h"
#include "program/dispatch.h"

namespace ferrule {
namespace {

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// The functor F (a stateless lambda) on operands of types T...
template <class F, class... T>
uint64_t apply(const uint64_t* operands) {
  return [&]<size_t... i>(std::index_sequence<i...>) {
    return to_bits(F{}(from_bits<T>(operands[i])...));
  }(std::index_sequence_for<T...>{});
}

template <class F, class T, int arity>
constexpr ElementFunction uniform() {
  if constexpr (arity == 1) return &apply<F, T>;
  if constexpr (arity == 2) return &apply<F, T, T>;
  if constexpr (arity == 3) return &apply<F, T, T, T>;
}

template <class T>
constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T>
constexpr bool is_float = std::is_floating_point_v<T>;
template <class T>
constexpr bool is_int = std::is_integral_v<T> && !is_bool<T>;

// Whether a rule computes with operands that all have type T.
template <DTypeRule rule, class T>
constexpr bool computes_with() {
  switch (rule) {
    case DTypeRule::Same:
    case DTypeRule::Rounding:
    case DTypeRule::Compare:
    case DTypeRule::Predicate:
      return true;
    case DTypeRule::SameNoBool:
    case DTypeRule::Number:
      return !is_bool<T>;
    case DTypeRule::Integer:
    case DTypeRule::Shift:
    case DTypeRule::BitCount:
      return is_int<T>;
    case DTypeRule::TrueDivide:
    case DTypeRule::FloatPower:
    case DTypeRule::Float:
    case DTypeRule::FloatToI32:
    case DTypeRule::FloatPredicate:
      return is_float<T>;
    case DTypeRule::Logical:
      return is_bool<T>;
    case DTypeRule::Bitwise:
      return !is_float<T>;
    case DTypeRule::Select:
    case DTypeRule::Ldexp:
    case DTypeRule::Sum:
      return false;
  }
  return false;
}

template <DTypeRule rule, int arity, class F>
ElementFunction find(std::span<const DType> dtypes) {
  if constexpr (rule == DTypeRule::Select) {
    if (dtypes[0] != DType::Bool || dtypes[1] != dtypes[2]) return nullptr;
    return with_type(dtypes[1], []<class T>() -> ElementFunction { return &apply<F, bool, T, T>; });
  } else if constexpr (rule == DTypeRule::Ldexp) {
    return with_type(dtypes[0], [&]<class T>() -> ElementFunction {
      if constexpr (is_float<T>) {
        if (dtypes[1] == DType::I32) return &apply<F, T, int32_t>;
        if (dtypes[1] == DType::I64) return &apply<F, T, int64_t>;
      }
      return nullptr;
    });
  } else {
    if constexpr (rule == DTypeRule::Compare) {
      if (dtypes[0] == DType::I64 && dtypes[1] == DType::U64) return &apply<F, int64_t, uint64_t>;
      if (dtypes[0] == DType::U64 && dtypes[1] == DType::I64) return &apply<F, uint64_t, int64_t>;
    }
    for (const DType d : dtypes)
      if (d != dtypes[0]) return nullptr;
    return with_type(dtypes[0], []<class T>() -> ElementFunction {
      if constexpr (computes_with<rule, T>()) return uniform<F, T, arity>();
      return nullptr;
    });
  }
}

ElementFunction find(ElementOp op, std::span<const DType> dtypes) {
  switch (op) {
#define FR_ELEMENTWISE(id, arity, rule, cost, flags, numpy, doc)                         \
  case ElementOp::id: {                                                                  \
    constexpr auto functor = [](auto... x) { return fr::id(x...); };                     \
    return find<DTypeRule::rule, arity, std::remove_const_t<decltype(functor)>>(dtypes); \
  }
#include "program/ops.def"
  }
  return nullptr;
}

}  // namespace

ElementFunction element_function(ElementOp op, std::span<const DType> dtypes) {
  if (static_cast<int>(dtypes.size()) != info(op).arity)
    throw internal_error(fmt::format("'{}' takes {} operands, got {}.", info(op).name, info(op).arity, dtypes.size()));
  const ElementFunction found = find(op, dtypes);
  if (found == nullptr)
    throw internal_error(
        fmt::format("'{}' does not compute with operands of dtype {}.", info(op).name, name_of(dtypes[0])));
  return found;
}

}  // namespace ferrule
