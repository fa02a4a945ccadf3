// The shortest way through a call, for what most calls are: plain arrays that fit at first sight, Python floats and
// ints, no results, no state, a short run. Whatever is not so goes the longer way as if nothing had happened.
#pragma once

#include "bind_args.h"
#include "call_target.h"

namespace ferrule::python {

// Fills Target::quick; to be done again when the target has changed.
void prepare_quick(Target& target);

namespace quick {

inline constexpr size_t kArgs = 40, kSymbols = 48;

// What quick calls of one thread use in turn: they run no Python code, so that none begins before another has ended.
// `call` and `ctx` are as a run expects them but for ctx.module.
struct Scratch {
  Scratch();
  FrCallCtx ctx;
  FrCall call;
  void* pointers[kArgs];
  uint64_t bytes[kArgs];
  int64_t symbols[kSymbols];
  int64_t numbers[kArgs];
};

// Of this thread; null before its first quick call. With the model of libraries that are loaded later it would be found
// through a function.
extern thread_local constinit Scratch* scratch [[gnu::tls_model("initial-exec")]];

[[gnu::cold]] Scratch* make_scratch();

// A Python int or bool where the target takes it as it is (numbers lie in their first bytes: little endian); false
// leaves the argument to the longer way.
bool take_integer(const QuickArg& arg, PyObject* object, int64_t* symbols, int64_t* slot);

// What is no array; its pointer is null for a fixed value.
[[gnu::always_inline]] inline bool take_other(const QuickArg& arg, PyObject* object, Scratch& use, size_t i) {
  if (arg.kind == QuickArg::Kind::Fixed) {
    use.pointers[i] = nullptr;
    return object == arg.expected;
  }
  use.pointers[i] = &use.numbers[i];
  if (arg.kind != QuickArg::Kind::Float64) return take_integer(arg, object, use.symbols, &use.numbers[i]);
  if (!PyFloat_CheckExact(object)) return false;
  const double value = PyFloat_AS_DOUBLE(object);
  __builtin_memcpy(&use.numbers[i], &value, sizeof value);
  return true;
}

// What a run that did not simply succeed comes to; `used` is as before afterwards.
[[gnu::cold]] PyObject* end(const Target& target, int32_t status, Scratch& used);

// The same for a run that an exception left, which is in flight.
[[gnu::cold]] PyObject* thrown(const Target& target, Scratch& used);

// Whether no byte is in both.
[[gnu::always_inline]] inline bool apart(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const uint64_t from_a = reinterpret_cast<uintptr_t>(b) - reinterpret_cast<uintptr_t>(a);
  return from_a >= a_bytes && -from_a >= b_bytes;
}

}  // namespace quick

// Whether the arguments of a vectorcall are known at once to lie in declared order, and the target takes them quickly.
// What only looking at the names can tell is left to the longer way, which remembers it.
[[gnu::always_inline]] inline bool may_be_quick(const Target& target, Py_ssize_t nargs, PyObject* kwnames) {
  if (kwnames == nullptr) [[likely]]
    return nargs == target.quick.n_args;
  return kwnames == target.seen_names && nargs == target.seen_nargs && target.quick.n_args >= 0;
}

using Vectorcall = PyObject*(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// The call of `self` if it may_be_quick(), else what `otherwise` makes of it; nothing has been done then. A function of
// its own, without anything rare in it: what it needs stays in registers.
template <Vectorcall otherwise>
[[gnu::noinline]] PyObject* quick_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                                       const Target& target) {
  quick::Scratch* const use = quick::scratch != nullptr ? quick::scratch : quick::make_scratch();
  const QuickTarget& own = target.quick;
  for (const GlobalGuard& guard : target.globals) {
    const uint64_t version = version_of(guard.variable);
    if (version == 0 || version != guard.seen) [[unlikely]]
      return otherwise(self, args, nargsf, kwnames);
  }
  PyTypeObject* const array_type = own.array_type;
  size_t i = 0;
  for (const QuickArg& arg : own.args) {
    PyObject* const object = args[i];
    if (!Py_IS_TYPE(object, array_type)) [[unlikely]] {
      if (!quick::take_other(arg, object, *use, i)) return otherwise(self, args, nargsf, kwnames);
      ++i;
      continue;
    }
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_DESCR(array) != arg.expected || PyArray_NDIM(array) != arg.rank ||
        (~PyArray_FLAGS(array) & arg.flags) != 0) [[unlikely]]
      return otherwise(self, args, nargsf, kwnames);
    const int64_t* const shape = shape_of(array);
    int64_t size = arg.item;
    for (int32_t axis = 0; axis < arg.rank; ++axis) {
      const int64_t extent = shape[axis];
      const QuickAxis& like = arg.axes[axis];
      size *= extent;
      use->symbols[like.defines] = extent;
      if (shape_of(reinterpret_cast<PyArrayObject*>(args[like.arg]))[like.axis] != extent) [[unlikely]]
        return otherwise(self, args, nargsf, kwnames);
    }
    use->pointers[i] = PyArray_BYTES(array);
    use->bytes[i] = static_cast<uint64_t>(size);
    ++i;
  }
  // An array of no bytes meets what it lies in: the longer way decides.
  for (const PairPlan* pair = own.pairs; pair != own.pairs_end; ++pair)
    if (!quick::apart(use->pointers[pair->written], use->bytes[pair->written], use->pointers[pair->other],
                      use->bytes[pair->other])) [[unlikely]]
      return otherwise(self, args, nargsf, kwnames);
  for (const int32_t* s = own.work; s != own.work_end; ++s)
    if (static_cast<uint64_t>(use->symbols[*s]) > own.largest) [[unlikely]]
      return otherwise(self, args, nargsf, kwnames);
  use->pointers[i] = nullptr;  // of the result None
  use->ctx.module = own.module;
  int32_t status;
  try {
    status = own.run(nullptr, &use->call);
  } catch (...) {
    return quick::thrown(target, *use);
  }
  if (status != FR_OK || use->ctx.extras != nullptr) [[unlikely]]
    return quick::end(target, status, *use);
  Py_RETURN_NONE;
}

}  // namespace ferrule::python
