#include "emit/nest_text.h"

#include <algorithm>

#include "base/error.h"
#include "emit/literal.h"

namespace ferrule {

using loops::Access;
using loops::Axis;
using loops::AxisKind;
using loops::Code;
using loops::Instr;
using loops::Nest;
using loops::Place;
using loops::Reduction;

namespace {

// Longest expression that a register used once becomes part of.
constexpr size_t kLongestInline = 90;

Expr constant_part(const Expr& expr) {
  return expr.substitute([](SymbolId) { return std::optional<Expr>(Expr(0)); });
}

}  // namespace

std::pair<BufferId, Expr> pointer_of(const loops::Loops& loops, BufferId buffer) {
  Expr offset = 0;
  while (loops.buffers[buffer].place == Place::Alias) {
    offset = offset + loops.buffers[buffer].offset;
    buffer = loops.buffers[buffer].base;
  }
  return {buffer, offset};
}

bool is_variable(const loops::Loops& loops, BufferId buffer) {
  const loops::Buffer& b = loops.buffers[buffer];
  if (b.place == Place::Local) return b.shape.empty();
  return b.place == Place::Argument && loops.arguments[b.index].kind == ArgumentKind::Scalar;
}

std::string NestText::address(const Access& access) const {
  const auto [base, offset] = pointer_of(loops_, access.buffer);
  const Expr at = linear_address(loops_, access) + offset;
  if (at.is_constant(0)) return names_.buffer(base);
  return fmt::format("{} + ({})", names_.buffer(base), expr(at));
}

std::string NestText::element(const Access& access) const {
  if (is_variable(loops_, access.buffer)) return names_.buffer(access.buffer);
  const auto [base, offset] = pointer_of(loops_, access.buffer);
  return fmt::format("{}[{}]", names_.buffer(base), expr(linear_address(loops_, access) + offset));
}

int NestText::level_of(const Expr& e) const {
  int level = 0;
  for (size_t axis = 0; axis < nest_->axes.size(); ++axis) {
    if (e.uses(nest_->axes[axis].variable)) level = int(axis) + 1;
  }
  return level;
}

bool NestText::stored_here(BufferId buffer) const {
  for (const Instr& instr : nest_->body) {
    if (instr.code == Code::Store && aliases_.may_alias(instr.access.buffer, buffer)) return true;
  }
  return false;
}

// Levels of all instructions: the loop depth at which their operands are known.
void NestText::plan(const Nest& nest) {
  nest_ = &nest;
  rows_.clear();
  levels_.assign(nest.body.size(), 0);
  size_t registers = 0;
  for (const Instr& instr : nest.body) registers = std::max(registers, size_t(instr.dst + 1));
  uses_.assign(registers, 0);
  texts_.assign(registers, "");
  register_level_.assign(registers, 0);
  const int depth = int(nest.axes.size());
  const auto stores =
      std::count_if(nest.body.begin(), nest.body.end(), [](const Instr& i) { return i.code == Code::Store; });
  stores_last_ = stores == 0 || (stores == 1 && nest.body.back().code == Code::Store);
  for (size_t k = 0; k < nest.body.size(); ++k) {
    const Instr& instr = nest.body[k];
    int level = 0;
    for (int operand : instr.src) {
      ++uses_[operand];
      level = std::max(level, register_level_[operand]);
    }
    if (instr.code == Code::Index) level = level_of(instr.expr);
    if (instr.code == Code::Load) {
      const bool fixed = !stored_here(instr.access.buffer);
      level = fixed ? level_of(linear_address(loops_, instr.access)) : depth;
    }
    if (instr.code == Code::Store) level = depth;
    levels_[k] = level;
    if (instr.dst >= 0) register_level_[instr.dst] = level;
  }
  for (const Reduction& reduction : nest.reductions) uses_[reduction.value] += 2;
}

// Declares the row pointer of an access whose address is affine in the variable `inner`, if its rest is known at
// `limit`.
void NestText::make_rows(const Access& access, int inner, int limit) {
  if (inner < 0 || is_variable(loops_, access.buffer)) return;
  inner_ = nest_->axes[inner].variable;
  const auto [base, offset] = pointer_of(loops_, access.buffer);
  const auto split = (linear_address(loops_, access) + offset).split(inner_);
  if (!split) return;
  const Expr rest = split->second - constant_part(split->second);
  if (rest.is_constant(0)) return;
  const int level = level_of(rest);
  if (level > limit) return;
  for (const Row& row : rows_) {
    if (row.buffer == base && row.rest == rest) return;
  }
  rows_.push_back({fmt::format("p{}", rows_.size()), base, rest, level});
}

std::string NestText::row_element(const Access& access) const {
  if (is_variable(loops_, access.buffer)) return names_.buffer(access.buffer);
  const auto [base, offset] = pointer_of(loops_, access.buffer);
  const Expr at = linear_address(loops_, access) + offset;
  if (const auto split = inner_ == kNone ? std::nullopt : at.split(inner_)) {
    const Expr constant = constant_part(split->second);
    const Expr rest = split->second - constant;
    for (const Row& row : rows_) {
      if (row.buffer != base || !(row.rest == rest)) continue;
      return fmt::format("{}[{}]", row.name, expr(split->first * Expr::symbol(inner_) + constant));
    }
  }
  return fmt::format("{}[{}]", names_.buffer(base), expr(at));
}

std::string NestText::value(const Instr& instr) const {
  switch (instr.code) {
    case Code::Constant:
      return literal(instr.dtype, instr.bits);
    case Code::Index:
      return fmt::format("int64_t({})", expr(instr.expr));
    case Code::Load: {
      const std::string element = row_element(instr.access);
      const bool truth = instr.dtype == DType::Bool && !is_variable(loops_, instr.access.buffer);
      return truth ? fmt::format("fr::truth({})", element) : element;
    }
    case Code::Cast:
      return fmt::format("fr::cast<{}>({})", cpp_name(instr.dtype), texts_[instr.src[0]]);
    case Code::Element: {
      std::string operands;
      for (int operand : instr.src) operands += (operands.empty() ? "" : ", ") + texts_[operand];
      return fmt::format("fr::{}({})", info(instr.op).name, operands);
    }
    case Code::Store:
      break;
  }
  throw internal_error("A store has no value.");
}

void NestText::write_instr(const Instr& instr) {
  if (instr.code == Code::Store) {
    text_.line("{} = {};", row_element(instr.access), texts_[instr.src[0]]);
    return;
  }
  const std::string text = value(instr);
  // A load may move to where its value is used unless a store comes between; one store at the end cannot.
  const bool movable = instr.code != Code::Load || stores_last_ || !stored_here(instr.access.buffer);
  bool inlined = instr.code == Code::Constant;
  if (instr.code == Code::Load && is_variable(loops_, instr.access.buffer)) inlined = movable;
  const bool once = uses_[instr.dst] == 1 && text.size() <= kLongestInline;
  if (once && movable) {
    // Only where it would be computed anyway: a value of an outer level stays there.
    for (size_t k = 0; k < nest_->body.size(); ++k) {
      const Instr& user = nest_->body[k];
      if (std::find(user.src.begin(), user.src.end(), instr.dst) == user.src.end()) continue;
      const int level = user.code == Code::Store ? int(nest_->axes.size()) : register_level_[user.dst];
      inlined = inlined || level == register_level_[instr.dst] || !nest_->reductions.empty();
    }
  }
  if (inlined) {
    texts_[instr.dst] = text;
    return;
  }
  texts_[instr.dst] = fmt::format("r{}", instr.dst);
  ++named_;
  text_.line("const {} r{} = {};", cpp_name(instr.dtype), instr.dst, text);
}

void NestText::write_level(int level) {
  for (const Row& row : rows_) {
    if (row.level != level) continue;
    const std::string type(cpp_name(loops_.buffers[row.buffer].dtype));
    text_.line("auto* const {} = {} + ({});", row.name, names_.buffer(row.buffer), expr(row.rest));
  }
  for (size_t k = 0; k < nest_->body.size(); ++k) {
    if (levels_[k] == level) write_instr(nest_->body[k]);
  }
}

void NestText::open_axis(const Axis& axis, bool innermost) {
  if (innermost && nest_->order == loops::Order::Free) {
    // Where a store and a load may share memory GCC would check at run time or give up; the nest says that it need not.
    bool shared = false;
    for (const Instr& instr : nest_->body) {
      shared = shared || (instr.code == Code::Load && !is_variable(loops_, instr.access.buffer) &&
                          stored_here(instr.access.buffer));
    }
    if (shared) text_.raw("#pragma GCC ivdep");
  }
  const std::string& v = names_.symbol(axis.variable);
  if (axis.descending)
    text_.open("for (int64_t {0} = {1}; {0} >= 0; --{0})", v, expr(axis.extent - 1));
  else
    text_.open("for (int64_t {0} = 0; {0} < {1}; ++{0})", v, expr(axis.extent));
}

void NestText::write_loops() {
  const int depth = int(nest_->axes.size());
  inner_ = kNone;
  bool hoists = false;
  for (size_t k = 0; k < nest_->body.size(); ++k) {
    const Instr& instr = nest_->body[k];
    if (instr.code != Code::Load && instr.code != Code::Store) continue;
    make_rows(instr.access, levels_[k] == depth ? depth - 1 : -1, depth - 1);
    hoists = hoists || (levels_[k] < depth && !is_variable(loops_, instr.access.buffer));
  }
  if (depth > 0) inner_ = nest_->axes.back().variable;
  // What is read before a loop must exist: an empty loop may stand over an empty array.
  std::string nonempty;
  for (const Axis& axis : nest_->axes) {
    if (axis.extent.constant().value_or(0) > 0) continue;
    nonempty += fmt::format("{}{} > 0", nonempty.empty() ? "" : " && ", expr(axis.extent));
  }
  hoists = hoists && !nonempty.empty();
  if (hoists) text_.open("if ({})", nonempty);
  const size_t begin = text_.size();
  named_ = 0;
  for (int level = 0; level < depth; ++level) {
    write_level(level);
    open_axis(nest_->axes[level], level + 1 == depth);
  }
  write_level(depth);
  for (int level = 0; level < depth; ++level) text_.close();
  if (hoists)
    text_.close();
  else if (depth == 0 && named_ > 0)
    text_.enclose(begin);  // registers are numbered anew in every nest
}

// Whether the loads run along the last parallel axis rather than along the last reduced one.
bool NestText::prefers_rows(size_t parallel) const {
  if (parallel == 0) return false;
  const SymbolId column = nest_->axes[parallel - 1].variable, reduced = nest_->axes.back().variable;
  int score = 0;
  for (const Instr& instr : nest_->body) {
    if (instr.code != Code::Load) continue;
    const Expr at = linear_address(loops_, instr.access);
    const auto along_column = at.split(column), along_reduced = at.split(reduced);
    if (along_column && along_column->first.is_constant(1)) ++score;
    if (along_reduced && along_reduced->first.is_constant(1)) --score;
  }
  return score > 0;
}

void NestText::write_reduction(const Reduction& reduction, size_t parallel) {
  const std::vector<Axis>& axes = nest_->axes;
  const bool rows = prefers_rows(parallel);
  const size_t outside = rows ? parallel - 1 : parallel;  // loops that stand around the call
  const std::string type(cpp_name(reduction.dtype));
  const std::string kind = fmt::format("fr::reduction::{}<{}>", info(reduction.op).name, type);

  rows_.clear();
  const int inner = int(rows ? parallel - 1 : axes.size() - 1);
  for (const Instr& instr : nest_->body) {
    if (instr.code == Code::Load) make_rows(instr.access, inner, int(outside));
  }
  make_rows(reduction.target, int(parallel) - 1, int(outside));
  inner_ = axes[inner].variable;

  const auto write_rows_of = [&](int level) {
    for (const Row& row : rows_) {
      if (row.level == level) {
        text_.line("auto* const {} = {} + ({});", row.name, names_.buffer(row.buffer), expr(row.rest));
      }
    }
  };
  for (size_t axis = 0; axis < outside; ++axis) {
    write_rows_of(int(axis));
    open_axis(axes[axis], false);
  }
  write_rows_of(int(outside));
  const auto write_body = [&] {
    for (const Instr& instr : nest_->body) write_instr(instr);
    text_.line("return {};", texts_[reduction.value]);
  };
  if (rows) {
    // Several reduced axes are one flat row index, split again a row.
    Expr count = 1;
    for (size_t axis = parallel; axis < axes.size(); ++axis) count = count * axes[axis].extent;
    const std::string& column = names_.symbol(axes[parallel - 1].variable);
    const bool flat = axes.size() - parallel == 1;
    const std::string row = flat ? names_.symbol(axes.back().variable) : "row";
    text_.open("fr::reduce_rows<{}>({}, {}, [&](int64_t {}, int64_t {}) -> {}", kind, expr(count),
               expr(axes[parallel - 1].extent), row, column, type);
    std::string rest = "row";
    for (size_t axis = axes.size(); !flat && axis-- > parallel;) {
      const std::string& variable = names_.symbol(axes[axis].variable);
      if (axis == parallel) {
        text_.line("const int64_t {} = {};", variable, rest);
      } else {
        text_.line("const int64_t {}_rest = {} / ({}), {} = {} - {}_rest * ({});", variable, rest,
                   expr(axes[axis].extent), variable, rest, variable, expr(axes[axis].extent));
        rest = variable + "_rest";
      }
    }
    write_body();
    inner_ = axes[parallel - 1].variable;
    text_.close(
        fmt::format(", [&](int64_t {}, {} value) {{ {} = value; }});", column, type, row_element(reduction.target)));
  } else {
    const SymbolId body_inner = inner_;
    inner_ = parallel > 0 ? axes[parallel - 1].variable : kNone;
    std::string head = row_element(reduction.target) + " = ";
    inner_ = body_inner;
    for (size_t axis = parallel; axis < axes.size(); ++axis) {
      const bool last = axis + 1 == axes.size();
      text_.open("{}fr::{}<{}>({}, [&](int64_t {}) -> {}", head, last ? "reduce" : "reduce_outer", kind,
                 expr(axes[axis].extent), names_.symbol(axes[axis].variable), type);
      head = "return ";
    }
    write_body();
    for (size_t axis = parallel; axis < axes.size(); ++axis) text_.close(");");
  }
  for (size_t axis = 0; axis < outside; ++axis) text_.close();
}

void NestText::write_reductions() {
  size_t parallel = 0;
  while (parallel < nest_->axes.size() && nest_->axes[parallel].kind == AxisKind::Parallel) ++parallel;
  for (const Reduction& reduction : nest_->reductions) {
    write_reduction(reduction, parallel);
  }
}

void NestText::write(const Nest& nest) {
  plan(nest);
  if (nest.reductions.empty())
    write_loops();
  else
    write_reductions();
}

}  // namespace ferrule
