// The shortest way through a call, for what most calls are: plain arrays that fit at first sight, Python floats and
// ints, no results, no state, a short run. Everything it needs lies in a few hundred bytes of stack; whatever is not so
// goes to attempt_call() as if nothing had happened.
#pragma once

#include <algorithm>

#include "bind_args.h"
#include "call_target.h"

namespace ferrule::python {

// Whether calls of the target may be quick; to be asked again when the target has changed.
bool may_be_quick(const Target& target);

namespace quick {

inline constexpr size_t kArgs = 40, kSymbols = 48;

// A Python float, int or bool where the target takes it as it is (numbers lie in their first bytes: little endian);
// false leaves the argument to the longer way.
[[gnu::always_inline]] inline bool take_number(const Target& target, size_t index, PyObject* object, int64_t* symbols,
                                               int64_t* slot) {
  const ArgPlan& arg = target.plan().args[index];
  if (arg.kind != FR_ARG_SCALAR || (target.exact && !arg.weak)) return false;
  if (arg.dtype == DType::F64 && PyFloat_CheckExact(object)) {
    const double value = PyFloat_AS_DOUBLE(object);
    __builtin_memcpy(slot, &value, sizeof value);
    return true;
  }
  if (arg.dtype == DType::Bool && PyBool_Check(object)) {
    *slot = object == Py_True;  // its first byte
    return true;
  }
  if ((arg.dtype != DType::I64 && arg.dtype != DType::I32) || !PyLong_CheckExact(object)) return false;
  int overflow = 0;
  *slot = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0 || (arg.dtype == DType::I32 && *slot != static_cast<int32_t>(*slot))) return false;
  if (arg.symbol < 0) return true;
  symbols[arg.symbol] = *slot;
  return *slot >= 0;  // a negative one may be refused
}

[[gnu::cold]] void raise(const Target& target, int32_t status, const FrCallCtx& ctx);

}  // namespace quick

// Makes the call if it is quick; false, with nothing done, if it is not. After true, `result` is a new reference or
// null with a Python error set. Arguments in declared order.
[[gnu::always_inline]] inline bool quick_call(const Target& target, PyObject* const* args, PyObject*& result) {
  void* pointers[quick::kArgs];
  int64_t symbols[quick::kSymbols];
  int64_t numbers[quick::kArgs];
  Range ranges[quick::kArgs];
  for (const GlobalGuard& guard : target.globals) {
    const uint64_t version = version_of(guard.variable);
    if (version == 0 || version != guard.seen) [[unlikely]]
      return false;
  }
  PyTypeObject* const array_type = target.array_type;
  const size_t n_args = target.args.size();
  for (size_t i = 0; i < n_args; ++i) {
    const ArgTarget& own = target.args[i];
    PyObject* const object = args[i];
    if (!Py_IS_TYPE(object, array_type)) {
      if (own.descr != nullptr || !quick::take_number(target, i, object, symbols, &numbers[i])) return false;
      pointers[i] = &numbers[i];
      continue;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_DESCR(array) != own.descr || PyArray_NDIM(array) != own.rank ||
        (~PyArray_FLAGS(array) & own.straight_flags) != 0) [[unlikely]]
      return false;
    const int64_t* const shape = shape_of(array);
    int64_t bytes = own.item;
    for (int32_t axis = 0; axis < own.rank; ++axis) {
      const int64_t extent = shape[axis];
      bytes *= extent;
      symbols[own.axes[axis].defines] = extent;
      if (symbols[own.axes[axis].equals] != extent) [[unlikely]]
        return false;
    }
    char* const data = PyArray_BYTES(array);
    pointers[i] = data;
    ranges[i] = {data, data + bytes};  // of no bytes: meets at most what it lies in, which the longer way decides
  }
  const CallPlan& plan = target.plan();
  for (const PairPlan& pair : plan.pairs)
    if (ranges_meet(ranges[pair.written], ranges[pair.other])) [[unlikely]]
      return false;
  if (target.release_gil != ReleaseGil::Never) {
    if (target.release_gil == ReleaseGil::Always) return false;
    uint64_t largest = 0;
    for (const int32_t s : plan.short_work.symbols) largest = std::max(largest, static_cast<uint64_t>(symbols[s]));
    if (largest > plan.short_work.largest) return false;
  }
  pointers[n_args] = nullptr;  // of the result None
  FrCallCtx ctx(plan.module);
  FrCall call;
  fill_call(call, pointers, symbols, ctx, target.host);
  const int32_t status = plan.module->run(nullptr, &call);
  if (status != FR_OK && (target.error_check || (status > 0 && status < FR_STATUS_USER))) [[unlikely]] {
    quick::raise(target, status, ctx);
    result = nullptr;
    return true;
  }
  result = Py_NewRef(Py_None);
  return true;
}

}  // namespace ferrule::python
