#include "call/refuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/entries.h"
#include "call/bind.h"

namespace ferrule {
namespace {

const FrSymbol& symbol_at(const CallPlan& plan, int32_t index) {
  return entry_at(plan.module->symbols, static_cast<uint32_t>(index));
}

const ArgPlan& arg_at(const CallPlan& plan, int32_t index) { return plan.args[static_cast<size_t>(index)]; }

// "a.shape[0]", "a.strides[0]", or the name of the scalar: where a symbol's value comes from.
std::string source_text(const CallPlan& plan, const FrSymbol& symbol) {
  if (symbol.source == FR_SYMBOL_EXPLICIT) return symbol.name;
  if (symbol.source == FR_SYMBOL_DERIVED) return text_of(symbol.solve, *plan.module);
  const char* name = arg_at(plan, symbol.arg).declared->name;
  if (symbol.source == FR_SYMBOL_SCALAR) return name;
  return fmt::format("{}.{}[{}]", name, symbol.source == FR_SYMBOL_EXTENT ? "shape" : "strides", symbol.axis);
}

// The extent that told a symbol: its own source's, or another's where that is None; nothing where both are.
std::optional<OptionalSource::Place> told_place(const CallPlan& plan, const Frame& frame, int32_t index) {
  const FrSymbol& symbol = symbol_at(plan, index);
  if (frame.arrays[symbol.arg].shape != nullptr) return OptionalSource::Place{symbol.arg, symbol.axis};
  const auto is_its = [&](const OptionalSource& source) { return source.symbol == index; };
  const auto source = std::find_if(plan.optional_sources.begin(), plan.optional_sources.end(), is_its);
  const OptionalSource::Place* place = source == plan.optional_sources.end() ? nullptr : told_by(*source, frame);
  return place != nullptr ? std::optional(*place) : std::nullopt;
}

bool comes_of_none(const CallPlan& plan, const Frame& frame, int32_t index) {
  const FrSymbol& symbol = symbol_at(plan, index);
  if (symbol.source == FR_SYMBOL_STRIDE) return frame.arrays[symbol.arg].shape == nullptr;
  return symbol.source == FR_SYMBOL_EXTENT && !told_place(plan, frame, index).has_value();
}

// What the source itself is, before it was solved for the symbol: "a.shape[0] = 8", with " (2*N)" where it is not N.
std::string source_equation(const CallPlan& plan, const Frame& frame, int32_t index) {
  const FrSymbol& symbol = symbol_at(plan, index);
  if (symbol.source != FR_SYMBOL_EXTENT) return fmt::format("{} = {}", source_text(plan, symbol), frame.symbols[index]);
  const auto place = told_place(plan, frame, index);
  if (!place) return fmt::format("{} = {}", symbol.name, frame.symbols[index]);  // only the caller
  const FrArg& declared = *arg_at(plan, place->arg).declared;
  const std::string text = text_of(declared.extents[place->axis], *plan.module);
  return fmt::format("{}.shape[{}] = {}{}", declared.name, place->axis, frame.arrays[place->arg].shape[place->axis],
                     text.empty() || text == symbol.name ? "" : fmt::format(" ({})", text));
}

std::string expected_shape(const CallPlan& plan, const ArgPlan& arg) {
  std::string text = "(";
  for (int32_t axis = 0; axis < arg.rank; ++axis) {
    if (axis > 0) text += ", ";
    const FrExpr& extent = arg.declared->extents[axis];
    text += extent.count == 0 ? ":" : text_of(extent, *plan.module);
  }
  return text + (arg.rank == 1 ? ",)" : ")");
}

std::string given_shape(const Frame& frame, const ArgPlan& arg) {
  return tuple_text(frame.arrays[arg.index].shape, arg.rank);
}

std::string dense_strides_text(const Frame& frame, const ArgPlan& arg) {
  std::vector<int64_t> strides(static_cast<size_t>(arg.rank));
  int64_t stride = arg.item;
  for (int32_t k = 0; k < arg.rank; ++k) {
    const int32_t axis = arg.layout == FR_LAYOUT_F ? k : arg.rank - 1 - k;
    strides[static_cast<size_t>(axis)] = stride;
    stride *= frame.arrays[arg.index].shape[axis];
  }
  return tuple_text(strides.data(), arg.rank);
}

// What to do about elements of another type: a converted copy of an array that is written would not show what was
// written.
std::string converted(const ArgPlan& arg) {
  return arg.written ? "the program writes it, so make an array of that dtype"
                     : fmt::format("convert it to {} first", name_of(arg.dtype));
}

// What to pass instead of an array in the wrong place, with the same reserve.
std::string copied(const ArgPlan& arg) {
  return arg.written ? "the program writes it, so make it an array of memory of its own"
                     : fmt::format("pass {}.copy()", arg.declared->name);
}

std::string strides_sentence(const Frame& frame, const ArgPlan& arg) {
  const char* name = arg.declared->name;
  const std::string got = tuple_text(frame.arrays[arg.index].byte_strides, arg.rank);
  if (arg.layout == FR_LAYOUT_INNER)
    return fmt::format(
        "'{}' needs unit stride ({} bytes) along axis {}, but its strides are {} bytes; {}, or declare order='any'.",
        name, arg.item, arg.inner_axis, got,
        arg.written ? "the program writes it, so make the array in that layout" : "pass a copy of that layout");
  const bool f = arg.layout == FR_LAYOUT_F;
  if (arg.written)  // a copy would not show the caller what was written
    return fmt::format(
        "'{}' must be contiguous in {} order with strides {} bytes, but its strides are {} bytes; the program writes "
        "it, so make the array in that order, or declare order='any'.",
        name, f ? 'F' : 'C', dense_strides_text(frame, arg), got);
  return fmt::format(
      "'{}' must be contiguous in {} order with strides {} bytes, but its strides are {} bytes; pass "
      "numpy.{}({}), or declare order='any'.",
      name, f ? 'F' : 'C', dense_strides_text(frame, arg), got, f ? "asfortranarray" : "ascontiguousarray", name);
}

// Each once, in order of appearance.
std::vector<int32_t> symbols_in(const FrExpr& code) {
  std::vector<int32_t> found;
  for (uint32_t i = 0; i + 1 < code.count; ++i) {
    const int64_t op = code.code[i] & 0xff;
    if (op == FR_X_SYMBOL) {
      const auto s = static_cast<int32_t>(code.code[i + 1]);
      if (std::find(found.begin(), found.end(), s) == found.end()) found.push_back(s);
    }
    if (op == FR_X_SYMBOL || op == FR_X_CONST || op == FR_X_FCONST || op == FR_X_FARG) ++i;
  }
  return found;
}

std::string value_text(const Evaluated& value) {
  return value.overflow ? "more than 64 bits hold" : std::to_string(value.value);
}

std::string extent_sentence(const CallPlan& plan, const Frame& frame) {
  const Mismatch& m = frame.mismatch;
  const Check& check = plan.checks[static_cast<size_t>(m.index)];
  const ArgPlan& arg = arg_at(plan, m.arg);
  const char* name = arg.declared->name;
  const std::string here = fmt::format("{}.{}[{}]", name, check.stride ? "strides" : "shape", check.axis);
  if (const int32_t s = check.expected.symbol(); s >= 0) {
    const FrSymbol& symbol = symbol_at(plan, s);
    if (comes_of_none(plan, frame, s)) {
      const char* source = arg_at(plan, symbol.arg).declared->name;
      return fmt::format("'{}' is 0 where '{}' is None, but {} = {}; give '{}', too.", symbol.name, source, here, m.got,
                         source);
    }
    return fmt::format("'{}': {}, but {} = {}.", symbol.name, source_equation(plan, frame, s), here, m.got);
  }
  const FrExpr& code = check.stride ? arg.declared->strides[check.axis] : arg.declared->extents[check.axis];
  const Evaluated expected = check.expected.eval(frame.symbols, frame.pointers);
  if (check.stride)
    return fmt::format("'{}' has stride {} elements along axis {}, but {}{} is expected.", name, m.got, check.axis,
                       check.expected.is_constant() ? "" : text_of(code, *plan.module) + " = ", value_text(expected));
  if (check.expected.is_constant())
    return fmt::format("'{}' has shape {}, but {} is expected.", name, given_shape(frame, arg),
                       expected_shape(plan, arg));
  for (const Step* step = arg.steps; step != arg.steps_end; ++step)
    if (step->axis == check.axis && step->kind == Step::Kind::Solve)
      return fmt::format("'{}' has shape {}, but {} is expected: no '{}' makes {} = {}.", name, given_shape(frame, arg),
                         expected_shape(plan, arg), symbol_at(plan, step->symbol).name, text_of(code, *plan.module),
                         m.got);
  std::string values, solved_from;
  for (const int32_t s : symbols_in(code)) {
    const FrSymbol& symbol = symbol_at(plan, s);
    values += fmt::format("{}{} = {}", values.empty() ? " with " : ", ", symbol.name, frame.symbols[s]);
    if (symbol.source == FR_SYMBOL_DERIVED) {
      for (const int32_t from : symbols_in(symbol.solve)) {
        const std::string known = fmt::format("{} = {}", symbol_at(plan, from).name, frame.symbols[from]);
        if (solved_from.find(known) == std::string::npos) solved_from += (solved_from.empty() ? "" : ", ") + known;
      }
    } else if (const std::string source = source_text(plan, symbol); source != symbol.name) {
      values += fmt::format(" from {}", source_equation(plan, frame, s));
    }
  }
  if (!solved_from.empty()) values += fmt::format(", solved from {}", solved_from);
  return fmt::format("'{}' has shape {}, but {} is expected: {} = {}, not {} = {}{}.", name, given_shape(frame, arg),
                     expected_shape(plan, arg), here, m.got, text_of(code, *plan.module), value_text(expected), values);
}

std::string guard_sentence(const CallPlan& plan, const Frame& frame) {
  const GuardPlan& guard = plan.guards[static_cast<size_t>(frame.mismatch.index)];
  const FrExpr& code = guard.declared->condition;
  const auto symbol_operand = [&](uint32_t at) { return static_cast<int32_t>(code.code[at]); };
  if ((guard.declared->flags & 1) != 0 && code.count == 5 && code.code[0] == FR_X_SYMBOL &&
      code.code[2] == FR_X_SYMBOL) {
    const int32_t left = symbol_operand(1), right = symbol_operand(3);
    return fmt::format("{}, but {}; the program needs {}.", source_equation(plan, frame, left),
                       source_equation(plan, frame, right), guard.declared->text);
  }
  std::string values;
  for (uint32_t s = 0; s < plan.module->n_symbols; ++s) {
    bool used = false;
    for (uint32_t i = 0; i + 1 < code.count; ++i) {
      const int64_t op = code.code[i] & 0xff;
      used |= op == FR_X_SYMBOL && symbol_operand(i + 1) == static_cast<int32_t>(s);
      if (op == FR_X_SYMBOL || op == FR_X_CONST || op == FR_X_FCONST || op == FR_X_FARG) ++i;
    }
    if (used)
      values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", symbol_at(plan, static_cast<int32_t>(s)).name,
                            frame.symbols[s]);
  }
  return fmt::format("the program needs {}{}{}.", guard.declared->text, values.empty() ? "" : ", but ", values);
}

std::string overlap_sentence(const CallPlan& plan, const Frame& frame) {
  const PairPlan& pair = plan.pairs[static_cast<size_t>(frame.mismatch.index)];
  const char* written = plan.args[pair.written].declared->name;
  const char* other = plan.args[pair.other].declared->name;
  if (plan.args[pair.other].written)  // a copy would not show the caller what was written
    return fmt::format("'{}' and '{}' are written and share memory; give each memory of its own.", written, other);
  return fmt::format("'{}' is written and shares memory with '{}'; pass a copy of '{}'.", written, other, other);
}

std::string sentence(const CallPlan& plan, const Frame& frame) {
  const Mismatch& m = frame.mismatch;
  const ArgPlan* arg = m.arg >= 0 ? &arg_at(plan, m.arg) : nullptr;
  const char* name = arg != nullptr ? arg->declared->name : "";
  switch (m.reason) {
    case Reason::Dtype: {
      const std::string_view got = name_of(static_cast<DType>(m.got));
      if (arg->record != nullptr)
        return fmt::format("'{}' has dtype {}, but a struct with the fields {} is expected.", name, got,
                           fields_text(*arg->record));
      return fmt::format("'{}' has dtype {}, but {} is expected; {}.", name, got, name_of(arg->dtype), converted(*arg));
    }
    case Reason::Rank:
      return fmt::format("'{}' has rank {} and shape {}, but rank {} and shape {} are expected.", name, m.got,
                         tuple_text(frame.arrays[m.arg].shape, static_cast<int32_t>(m.got)), arg->rank,
                         expected_shape(plan, *arg));
    case Reason::ReadOnly:
      return fmt::format("'{}' is read-only, but the program writes to it; pass a writable array.", name);
    case Reason::Misaligned:
      return fmt::format(
          "'{}' is not aligned: it begins {} byte{} past a multiple of {}, the alignment of its elements; {}.", name,
          m.got, m.got == 1 ? "" : "s", arg->alignment, copied(*arg));
    case Reason::Strides:
      return strides_sentence(frame, *arg);
    case Reason::StrideMultiple:
      return fmt::format("'{}' has stride {} bytes along axis {}, which is no multiple of its item size {}; {}.", name,
                         m.got, m.axis, arg->item, copied(*arg));
    case Reason::SelfOverlap:
      return fmt::format(
          "'{}' is written, but elements of it share memory: shape {}, strides {} bytes; pass an array of its "
          "own memory.",
          name, given_shape(frame, *arg), tuple_text(frame.arrays[m.arg].byte_strides, arg->rank));
    case Reason::Solve:
      if (m.arg < 0)
        return fmt::format("'{}' = {} does not fit into 64 bits.", symbol_at(plan, m.index).name,
                           source_text(plan, symbol_at(plan, m.index)));
      return fmt::format("'{}': {} = {} gives no value for '{}'.", name, source_text(plan, symbol_at(plan, m.index)),
                         m.got, symbol_at(plan, m.index).name);
    case Reason::Negative: {
      const FrSymbol& symbol = symbol_at(plan, m.index);
      const std::string source = source_text(plan, symbol);
      return source == symbol.name || comes_of_none(plan, frame, m.index)
                 ? fmt::format("'{}' is {}, but it must not be negative.", symbol.name, m.got)
                 : fmt::format("'{}' from {} is {}, but it must not be negative.", symbol.name, source, m.got);
    }
    case Reason::Extent:
      return extent_sentence(plan, frame);
    case Reason::Guard:
      return guard_sentence(plan, frame);
    case Reason::NoOverlap:
      return "no written array overlaps another argument, and this specialisation is for those that do";
    case Reason::Overlap:
      return overlap_sentence(plan, frame);
    case Reason::ExplicitMissing:
      return fmt::format("'{}' must be given by keyword: no argument tells it.", symbol_at(plan, m.index).name);
    case Reason::ExplicitDiffers: {
      const FrSymbol& symbol = symbol_at(plan, m.index);
      if (comes_of_none(plan, frame, m.index))
        return fmt::format("'{}' is 0 where '{}' is None, but {} = {} was given.", symbol.name,
                           arg_at(plan, symbol.arg).declared->name, symbol.name, m.got);
      return fmt::format("'{}': {}, but {} = {} was given.", symbol.name, source_equation(plan, frame, m.index),
                         symbol.name, m.got);
    }
    case Reason::ReturnExtent: {
      const FrReturn& r = *plan.returns[static_cast<size_t>(m.index)].declared;
      return fmt::format("the result '{}' would have extent {} = {} along axis {}.", r.name != nullptr ? r.name : "",
                         text_of(r.extents[m.axis], *plan.module), m.got, m.axis);
    }
    case Reason::ReturnOverflow: {
      const FrReturn& r = *plan.returns[static_cast<size_t>(m.index)].declared;
      return fmt::format("the extent {} of the result '{}' along axis {} does not fit into 64 bits.",
                         text_of(r.extents[m.axis], *plan.module), r.name != nullptr ? r.name : "", m.axis);
    }
  }
  return {};
}

Builtin builtin_of(Reason reason) {
  switch (reason) {
    case Reason::Dtype:
    case Reason::ExplicitMissing:
      return Builtin::Type;
    case Reason::Solve:
    case Reason::ReturnOverflow:
      return Builtin::Overflow;
    default:
      return Builtin::Value;
  }
}

}  // namespace

std::string tuple_text(const int64_t* values, int32_t count) {
  std::string text = "(";
  for (int32_t i = 0; i < count; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", values[i]);
  return text + (count == 1 ? ",)" : ")");
}

std::string fields_text(const FrRecord& record) {
  std::string text;
  for (uint32_t i = 0; i < record.n_fields; ++i)
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", entry_at(record.fields, i).name);
  return text;
}

Error refusal(const CallPlan& plan, const Frame& frame) {
  return user_error(fmt::format("{}(): {}", plan.module->name, sentence(plan, frame)),
                    builtin_of(frame.mismatch.reason));
}

}  // namespace ferrule
