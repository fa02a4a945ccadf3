#include "call/invoke.h"

#include <fmt/format.h>

#include <string>

#include "base/entries.h"
#include "call/refuse.h"

namespace ferrule {
namespace {

Error refuse(const CallPlan& plan, std::string_view text, Builtin builtin = Builtin::Type) {
  return user_error(fmt::format("{}(): {}", plan.module->name, text), builtin);
}

// Memory that Frame points into: strides of arguments that came without.
struct Storage {
  std::vector<std::vector<int64_t>> strides;
};

void bind_array_argument(const CallPlan& plan, const ArgPlan& arg, Frame& frame, const ArrayRef& array,
                         Storage& storage) {
  const int64_t* strides = array.byte_strides;
  if (strides == nullptr) {
    storage.strides.push_back(dense_strides({array.shape, array.shape + array.rank}, array.dtype));
    strides = storage.strides.back().data();
  }
  frame.arrays[arg.index].shape = array.shape;
  frame.arrays[arg.index].byte_strides = strides;
  if (array.dtype != arg.dtype)
    frame.mismatch = {Reason::Dtype, arg.index, -1, -1, static_cast<int64_t>(array.dtype)};
  else if (array.rank != arg.rank)
    frame.mismatch = {Reason::Rank, arg.index, -1, -1, array.rank};
  else if (test_layout(arg, frame, array.data, array.shape, strides, array.writable) &&
           bind_array(plan, arg, frame, array.data, array.shape, strides))
    return;
  throw refusal(plan, frame);
}

struct ScalarWriter {
  const CallPlan& plan;
  const ArgPlan& arg;
  void* slot;

  [[noreturn]] void wrong(const char* given) const {
    throw refuse(plan, fmt::format("'{}' is {}, but a scalar of type {} is expected.", arg.declared->name, given,
                                   name_of(arg.dtype)));
  }
  void operator()(std::monostate) const { wrong("None"); }
  void operator()(const ArrayRef&) const { wrong("an array"); }
  void operator()(bool value) const {
    if (arg.dtype != DType::Bool) wrong("a bool");
    write_as(slot, value);
  }
  void operator()(int64_t value) const {
    if (!is_integer(arg.dtype)) wrong("an integer");
    const IntegerRange range = range_of(arg.dtype);
    if (value < range.low || (value > 0 && static_cast<uint64_t>(value) > range.high)) out_of_range(value);
    store_integer(slot, arg.dtype, static_cast<uint64_t>(value));
  }
  void operator()(uint64_t value) const {
    if (!is_integer(arg.dtype)) wrong("an integer");
    if (value > range_of(arg.dtype).high) out_of_range(value);
    store_integer(slot, arg.dtype, value);
  }
  void operator()(double value) const {
    if (!is_float(arg.dtype)) wrong("a real number");
    store_real(slot, arg.dtype, value);
  }
  void operator()(std::complex<double> value) const {
    if (arg.dtype == DType::C128)
      write_as(slot, value);
    else if (arg.dtype == DType::C64)
      write_as(slot, std::complex<float>(value));
    else
      wrong("a complex number");
  }
  template <class T>
  [[noreturn]] void out_of_range(T value) const {
    throw refuse(plan, fmt::format("'{}' = {} is out of range for {}.", arg.declared->name, value, name_of(arg.dtype)),
                 Builtin::Overflow);
  }
};

void bind_argument(const CallPlan& plan, const ArgPlan& arg, Frame& frame, const CallArgument& given,
                   Storage& storage) {
  if (arg.optional && std::holds_alternative<std::monostate>(given)) return bind_none(arg, frame);
  if (arg.kind == FR_ARG_ARRAY) {
    const ArrayRef* array = std::get_if<ArrayRef>(&given);
    if (array == nullptr)
      throw refuse(
          plan, fmt::format("'{}' is no array, but a {} array is expected.", arg.declared->name, name_of(arg.dtype)));
    return bind_array_argument(plan, arg, frame, *array, storage);
  }
  std::visit(ScalarWriter{plan, arg, &frame.scalars()[arg.index]}, given);
  if (!bind_scalar(plan, arg, frame)) throw refusal(plan, frame);
}

void take_symbols(const CallPlan& plan, Frame& frame, std::span<const NamedValue> symbols) {
  for (const NamedValue& given : symbols) {
    uint32_t s = 0;
    while (s < plan.module->n_symbols && given.name != entry_at(plan.module->symbols, s).name) ++s;
    if (s == plan.module->n_symbols)
      throw refuse(
          plan, fmt::format("there is no symbol '{}'; the signature is {}.", given.name, signature_text(*plan.module)));
    if (frame.n_explicit == plan.module->n_symbols) throw refuse(plan, fmt::format("'{}' is given twice.", given.name));
    frame.explicit_given()[frame.n_explicit++] = {static_cast<int32_t>(s), given.value};
  }
}

// Results that exist before the run; the module finds their addresses after the arguments'.
void prepare_results(const CallPlan& plan, Frame& frame, Results& results) {
  const size_t n_args = plan.args.size();
  for (size_t i = 0; i < plan.returns.size(); ++i) {
    const ReturnPlan& r = plan.returns[i];
    Array& result = results[i];
    result.dtype = r.dtype;
    if (r.kind == FR_RETURN_ARRAY) {
      const int64_t* extents = frame.extents() + r.first_extent;
      result.shape.assign(extents, extents + r.rank);
      result.byte_strides = dense_strides(result.shape, r.dtype);
      const int64_t bytes = dense_bytes(r.dtype, r.rank, extents);
      result.memory = allocate_memory(bytes);
      if (result.memory == nullptr)
        throw refuse(
            plan, fmt::format("no memory for a {} result of shape {}.", name_of(r.dtype), tuple_text(extents, r.rank)),
            Builtin::Memory);
    } else if (r.kind == FR_RETURN_SCALAR) {
      result.memory = allocate_memory(sizeof(ScalarSlot));
      if (result.memory == nullptr) throw refuse(plan, "no memory for a scalar result.", Builtin::Memory);
      std::memset(result.memory.get(), 0, sizeof(ScalarSlot));
    } else if (r.kind == FR_RETURN_ARGUMENT && is_given_array(plan.args[static_cast<size_t>(r.arg)], frame)) {
      const ArgPlan& arg = plan.args[static_cast<size_t>(r.arg)];
      result.data = frame.pointers[r.arg];
      result.dtype = arg.dtype;
      result.shape.assign(frame.arrays[r.arg].shape, frame.arrays[r.arg].shape + arg.rank);
      result.byte_strides.assign(frame.arrays[r.arg].byte_strides, frame.arrays[r.arg].byte_strides + arg.rank);
    }
    if (result.memory != nullptr) result.data = result.memory.get();
    frame.pointers[n_args + i] = result.memory.get();
  }
}

void take_made_results(const CallPlan& plan, const Frame& frame, FrCallCtx& ctx, Results& results) {
  if (ctx.extras == nullptr) return;
  for (MadeReturn& made : ctx.extras->returns) {
    Array& result = results[static_cast<size_t>(made.index)];
    result.shape = std::move(made.shape);
    if (made.data != nullptr) {
      result.byte_strides = dense_strides(result.shape, result.dtype);
      result.memory = std::move(made.data);
      result.data = result.memory.get();
      continue;
    }
    const ArgPlan& arg = plan.args[static_cast<size_t>(made.arg)];
    result.dtype = arg.dtype;
    result.data = static_cast<char*>(frame.pointers[made.arg]) + made.byte_offset;
    result.byte_strides = std::move(made.strides);
    for (int64_t& stride : result.byte_strides) stride *= arg.item;
  }
}

}  // namespace

Results invoke(Handle& handle, std::span<const CallArgument> arguments, std::span<const NamedValue> symbols) {
  const CallPlan& plan = handle.plan();
  if (plan.needs_python)
    throw unsupported(
        fmt::format("'{}' takes or gives structs, texts, objects or callables, which only calls from "
                    "Python pass.",
                    plan.module->name));
  Frame frame(plan);
  Storage storage;
  storage.strides.reserve(plan.args.size());
  size_t next = 0;
  for (const ArgPlan& arg : plan.args) {
    if (arg.kind == FR_ARG_STATIC) {
      bind_none(arg, frame);
      continue;
    }
    if (next == arguments.size())
      throw refuse(
          plan, fmt::format("'{}' is missing; the signature is {}.", arg.declared->name, signature_text(*plan.module)));
    bind_argument(plan, arg, frame, arguments[next++], storage);
  }
  if (next != arguments.size())
    throw refuse(plan, fmt::format("{} arguments are given, but {} are expected; the signature is {}.",
                                   arguments.size(), next, signature_text(*plan.module)));
  take_symbols(plan, frame, symbols);
  const Fit fit = finish_binding(plan, frame);
  if (fit == Fit::Refused) throw refusal(plan, frame);
  Results results(plan.returns.size());
  prepare_results(plan, frame, results);
  FrCallCtx ctx(plan.module);
  const int32_t status = handle.run(frame, fit, ctx);
  if (status != FR_OK) throw handle.failure(status, ctx);
  take_made_results(plan, frame, ctx, results);
  return results;
}

}  // namespace ferrule
