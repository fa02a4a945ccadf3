#include "loops/nest_builder.h"

#include <algorithm>

namespace ferrule::loops {
namespace {

void mix(size_t& seed, size_t value) { seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2); }

}  // namespace

size_t NestBuilder::hash(const Instr& instr) {
  size_t seed = size_t(instr.code);
  mix(seed, size_t(instr.dtype));
  for (int operand : instr.src) mix(seed, size_t(operand));
  switch (instr.code) {
    case Code::Constant:
      mix(seed, instr.bits);
      break;
    case Code::Index:
      mix(seed, instr.expr.hash());
      break;
    case Code::Element:
      mix(seed, size_t(instr.op));
      break;
    case Code::Load:
      mix(seed, instr.access.buffer);
      for (const Expr& expr : instr.access.index) mix(seed, expr.hash());
      break;
    case Code::Cast:
    case Code::Store:
      break;
  }
  return seed;
}

bool NestBuilder::same(const Instr& a, const Instr& b) {
  if (a.code != b.code || a.dtype != b.dtype || a.src != b.src) return false;
  switch (a.code) {
    case Code::Constant:
      return a.bits == b.bits;
    case Code::Index:
      return a.expr == b.expr;
    case Code::Element:
      return a.op == b.op;
    case Code::Load:
      return a.access == b.access;
    case Code::Cast:
      return true;
    case Code::Store:
      return false;
  }
  return false;
}

int NestBuilder::append(Instr instr) {
  const size_t key = hash(instr);
  const auto [first, last] = known_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (same(it->second.instr, instr)) return it->second.value;
  }
  instr.dst = int(dtypes_.size());
  dtypes_.push_back(instr.dtype);
  known_.insert({key, {instr, instr.dst}});
  body_.push_back(std::move(instr));
  return body_.back().dst;
}

int NestBuilder::constant(DType dtype, uint64_t bits) {
  return append({.code = Code::Constant, .dtype = dtype, .bits = bits});
}

int NestBuilder::index(const Expr& expr) {
  if (const std::optional<int64_t> value = expr.constant()) return constant(DType::I64, uint64_t(*value));
  return append({.code = Code::Index, .dtype = DType::I64, .expr = expr});
}

int NestBuilder::load(Access access, DType dtype) {
  return append({.code = Code::Load, .dtype = dtype, .access = std::move(access)});
}

int NestBuilder::element(ElementOp op, DType dtype, std::vector<int> operands) {
  return append({.code = Code::Element, .src = std::move(operands), .op = op, .dtype = dtype});
}

int NestBuilder::cast(int value, DType dtype) {
  if (dtypes_[value] == dtype) return value;
  return append({.code = Code::Cast, .src = {value}, .dtype = dtype});
}

void NestBuilder::store(Access access, int value) {
  for (auto it = known_.begin(); it != known_.end();) {
    const Instr& instr = it->second.instr;
    const bool stale =
        instr.code == Code::Load && (aliases_ == nullptr || aliases_->may_alias(instr.access.buffer, access.buffer));
    it = stale ? known_.erase(it) : std::next(it);
  }
  Instr load{.code = Code::Load, .dtype = dtypes_[value], .access = access};
  known_.insert({hash(load), {load, value}});
  body_.push_back({.code = Code::Store, .src = {value}, .dtype = dtypes_[value], .access = std::move(access)});
}

int NestBuilder::copy(const Instr& instr, const std::vector<int>& renamed,
                      const std::function<std::optional<Expr>(SymbolId)>& replace) {
  std::vector<int> operands;
  operands.reserve(instr.src.size());
  for (int operand : instr.src) operands.push_back(renamed[operand]);
  switch (instr.code) {
    case Code::Constant:
      return constant(instr.dtype, instr.bits);
    case Code::Index:
      return index(instr.expr.substitute(replace));
    case Code::Load:
      return load(substitute(instr.access, replace), instr.dtype);
    case Code::Element:
      return element(instr.op, instr.dtype, std::move(operands));
    case Code::Cast:
      return cast(operands[0], instr.dtype);
    case Code::Store:
      store(substitute(instr.access, replace), operands[0]);
      return -1;
  }
  return -1;
}

std::vector<Instr> NestBuilder::finish() {
  known_.clear();
  dtypes_.clear();
  return std::move(body_);
}

Access substitute(const Access& access, const std::function<std::optional<Expr>(SymbolId)>& replace) {
  Access result{.buffer = access.buffer};
  for (const Expr& expr : access.index) result.index.push_back(expr.substitute(replace));
  if (access.flat) result.flat = access.flat->substitute(replace);
  return result;
}

void remove_unused(Nest& nest) {
  int count = 0;
  for (const Instr& instr : nest.body) count = std::max(count, instr.dst + 1);
  std::vector<bool> used(count, false);
  for (const Reduction& reduction : nest.reductions) used[reduction.value] = true;
  std::vector<bool> keep(nest.body.size(), false);
  for (size_t i = nest.body.size(); i-- > 0;) {
    const Instr& instr = nest.body[i];
    keep[i] = instr.code == Code::Store || used[instr.dst];
    if (keep[i]) {
      for (int operand : instr.src) used[operand] = true;
    }
  }
  std::vector<int> renamed(count, -1);
  std::vector<Instr> body;
  int next = 0;
  for (size_t i = 0; i < nest.body.size(); ++i) {
    if (!keep[i]) continue;
    Instr instr = std::move(nest.body[i]);
    for (int& operand : instr.src) operand = renamed[operand];
    if (instr.dst >= 0) renamed[instr.dst] = next, instr.dst = next++;
    body.push_back(std::move(instr));
  }
  nest.body = std::move(body);
  for (Reduction& reduction : nest.reductions) reduction.value = renamed[reduction.value];
}

}  // namespace ferrule::loops
