#include "quick_call.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "../common/errors.h"
#include "runtime/host.h"

namespace ferrule::python {
namespace {

bool is_simple(const Target& target) {
  const CallPlan& plan = target.plan();
  const bool simple = plan.plain && plan.direct && plan.returns_none && plan.short_work.known && !target.has_hidden &&
                      !target.overlap_only && target.finish == nullptr && target.release_gil != ReleaseGil::Always;
  const bool small = plan.args.size() < quick::kArgs && plan.returns.size() <= 1 &&
                     plan.module->n_symbols < quick::kSymbols &&
                     target.n_by_position == static_cast<Py_ssize_t>(plan.args.size());
  return simple && small;
}

// The axis that gives a symbol its value, among the arguments so far.
bool find_axis(const std::vector<QuickArg>& args, uint16_t symbol, QuickAxis& found) {
  for (size_t i = 0; i < args.size(); ++i)
    for (int axis = 0; axis < args[i].rank; ++axis)
      if (args[i].axes[axis].defines == symbol) {
        found.arg = static_cast<uint8_t>(i);
        found.axis = static_cast<uint8_t>(axis);
        return true;
      }
  return false;
}

std::optional<QuickArg::Kind> number_kind(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return QuickArg::Kind::Float64;
    case DType::Bool:
      return QuickArg::Kind::Bool;
    case DType::I64:
      return QuickArg::Kind::Int64;
    case DType::I32:
      return QuickArg::Kind::Int32;
    default:
      return std::nullopt;
  }
}

bool take_argument(const Target& target, size_t index, std::vector<QuickArg>& args) {
  const ArgPlan& arg = target.plan().args[index];
  const ArgTarget& own = target.args[index];
  QuickArg& made = args.emplace_back();
  if (arg.kind == FR_ARG_STATIC) {
    made.kind = QuickArg::Kind::Fixed;
    made.expected = own.fixed;
    return own.fixed != nullptr;
  }
  if (arg.kind == FR_ARG_SCALAR) {
    const auto kind = number_kind(arg.dtype);
    made.kind = kind.value_or(QuickArg::Kind::Array);
    made.symbol = arg.symbol;
    return kind && (!target.exact || arg.weak);
  }
  if (arg.kind != FR_ARG_ARRAY || own.descr == nullptr || own.straight_flags == ArgTarget::kNever) return false;
  made.expected = own.descr;
  made.flags = own.straight_flags;
  made.item = static_cast<int16_t>(own.item);
  made.rank = static_cast<int8_t>(own.rank);
  for (int axis = 0; axis < own.rank; ++axis) {
    made.axes[axis] = {own.axes[axis].defines, static_cast<uint8_t>(index), static_cast<uint8_t>(axis)};
    if (own.axes[axis].equals == own.axes[axis].defines) continue;
    if (!find_axis(args, own.axes[axis].equals, made.axes[axis])) return false;
  }
  return true;
}

}  // namespace

void prepare_quick(Target& target) {
  target.quick = {};
  if (!is_simple(target)) return;
  std::vector<QuickArg> args;
  for (size_t i = 0; i < target.args.size(); ++i)
    if (!take_argument(target, i, args)) return;
  const CallPlan& plan = target.plan();
  QuickTarget& quick = target.quick;
  quick.n_args = target.n_by_position;
  quick.args = std::move(args);
  quick.pairs = plan.pairs.data();
  quick.pairs_end = quick.pairs + plan.pairs.size();
  quick.array_type = target.array_type;
  quick.module = plan.module;
  quick.run = plan.module->run;
  quick.largest = plan.short_work.largest;
  quick.work = quick.work_end = plan.short_work.symbols.data();
  if (target.release_gil == ReleaseGil::Auto) quick.work_end += plan.short_work.symbols.size();
}

bool quick::take_integer(const QuickArg& arg, PyObject* object, int64_t* symbols, int64_t* slot) {
  if (arg.kind == QuickArg::Kind::Bool) {
    *slot = object == Py_True;  // its first byte
    return PyBool_Check(object);
  }
  if (arg.kind == QuickArg::Kind::Array || !PyLong_CheckExact(object)) return false;
  int overflow = 0;
  *slot = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0 || (arg.kind == QuickArg::Kind::Int32 && *slot != static_cast<int32_t>(*slot))) return false;
  if (arg.symbol < 0) return true;
  symbols[arg.symbol] = *slot;
  return *slot >= 0;  // a negative one may be refused
}

quick::Scratch::Scratch() : ctx(nullptr) { fill_call(call, pointers, symbols, ctx, host_table()); }

thread_local constinit quick::Scratch* quick::scratch = nullptr;

quick::Scratch* quick::make_scratch() {
  static thread_local bool over = false;
  struct Owner {
    std::unique_ptr<Scratch> owned = std::make_unique<Scratch>();
    ~Owner() {
      scratch = nullptr;
      over = true;
    }
  };
  if (over) return scratch = new Scratch;  // a call by what ends after the owner, which nothing outlives
  static thread_local Owner owner;
  return scratch = owner.owned.get();
}

PyObject* quick::thrown(const Target& target, Scratch& used) try {
  used.ctx.clear();
  throw_of_program(target.plan());
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* quick::end(const Target& target, int32_t status, Scratch& used) try {
  if (status == FR_OK || (!target.error_check && is_own_status(status))) {
    used.ctx.clear();
    Py_RETURN_NONE;
  }
  const Error failure = target.handle->failure(status, used.ctx);
  used.ctx.clear();  // raising may run Python code, which may call
  raise_from(failure);
  return nullptr;
} catch (...) {
  used.ctx.clear();
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
