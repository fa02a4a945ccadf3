#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "lower/lowering.h"

namespace ferrule {
namespace lowering {
namespace {

std::vector<Expr> dense_strides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

// Whether anything in the operation may write a buffer that shares memory with `buffer`.
bool may_write(const Program& program, const ProgramFacts& facts, const Op& op, BufferId buffer) {
  if (op.kind == OpKind::Store && facts.may_alias(program.type(op.operands[0]).buffer, buffer)) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [&](const Region& region) {
    return std::any_of(region.ops.begin(), region.ops.end(),
                       [&](const Op& inner) { return may_write(program, facts, inner, buffer); });
  });
}

void mark_symbolized(const Region& region, std::vector<bool>& defined) {
  for (const Op& op : region.ops) {
    if (op.kind == OpKind::Symbolize) defined[op.symbol] = true;
    for (const Region& inner : op.regions) mark_symbolized(inner, defined);
  }
}

}  // namespace

Lowering::Lowering(const Program& program, const ProgramFacts& facts)
    : program_(program), facts_(facts), entry_facts_(&out_.symbols) {
  out_.name = program.name;
  out_.symbols = program.symbols;
  out_.sources = program.sources;
  out_.arguments = program.arguments;
  out_.guards = program.guards;
  out_.returns_tuple = program.returns_tuple;
  out_.alias_safe = facts.arguments_may_alias;
  out_.bounds_check = program.bounds_check;
  out_.distinct = facts.distinct;
  for (const Guard& guard : program.guards) entry_facts_.assume(guard.condition);
  entry_known_ = loops::entry_symbols(out_);
  symbolized_.resize(program.symbols.size(), false);
  mark_symbolized(program.body, symbolized_);
  memory_.resize(program.values.size(), kNone);
  immediate_.resize(program.values.size(), nullptr);
  elided_.resize(program.values.size(), false);
}

std::vector<Expr> Lowering::canonical(const std::vector<Expr>& exprs) const {
  std::vector<Expr> result;
  for (const Expr& expr : exprs) result.push_back(canonical(expr));
  return result;
}

std::string Lowering::fresh_name(const std::string& name) {
  std::string clean;
  for (char c : name) clean += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  if (clean.empty() || (clean[0] >= '0' && clean[0] <= '9')) clean = "b" + clean;
  for (std::string candidate = clean;; candidate = fmt::format("{}_{}", clean, names_[clean])) {
    if (names_[candidate]++ == 0) return candidate;
  }
}

void Lowering::make_buffers() {
  for (BufferId id = 0; id < program_.buffers.size(); ++id) {
    const Buffer& from = program_.buffers[id];
    loops::Buffer to{.name = fresh_name(from.name), .dtype = from.dtype, .shape = canonical(from.shape)};
    to.strides = from.strides.empty() ? dense_strides(to.shape) : canonical(from.strides);
    switch (from.storage) {
      case Storage::Argument:
        to.place = loops::Place::Argument;
        to.index = from.argument;
        break;
      case Storage::Constant:
        to.place = loops::Place::Constant;
        to.bytes = from.bytes;
        break;
      case Storage::Transient:
        to.place = loops::Place::Arena;
        to.slots = int(facts_.avoid[id].size()) + 1;
        break;
      case Storage::Carried:
        to.place = loops::Place::Pointer;
        to.may_be = facts_.may_be[id];
        break;
      case Storage::Alias:
        to.place = loops::Place::Alias;
        to.base = from.base;
        to.offset = canonical(from.offset);
        break;
    }
    out_.buffers.push_back(std::move(to));
  }
  for (size_t i = 0; i < program_.arguments.size(); ++i) {
    const Argument& argument = program_.arguments[i];
    if (argument.kind != ArgumentKind::Scalar) continue;
    const BufferId buffer = new_buffer(argument.name, argument.dtype, {});
    out_.buffers[buffer].place = loops::Place::Argument;
    out_.buffers[buffer].index = int(i);
    memory_[argument.value] = buffer;
  }
}

BufferId Lowering::new_buffer(const std::string& name, DType dtype, std::vector<Expr> shape) {
  loops::Buffer buffer{.name = fresh_name(name), .dtype = dtype, .shape = std::move(shape)};
  buffer.strides = dense_strides(buffer.shape);
  buffer.place = buffer.shape.empty() ? loops::Place::Local : loops::Place::Arena;
  out_.buffers.push_back(std::move(buffer));
  return BufferId(out_.buffers.size() - 1);
}

bool Lowering::known_at_entry(const std::vector<Expr>& shape) const {
  for (const Expr& extent : shape) {
    for (SymbolId symbol : extent.symbols()) {
      if (symbol >= entry_known_.size() || !entry_known_[symbol]) return false;
    }
  }
  return true;
}

void Lowering::make_if_opaque(BufferId id) {
  if (!known_at_entry(out_.buffers[id].shape)) append({loops::Make{.buffer = id}});
}

BufferId Lowering::memory_without_make(ValueId value, const ValueType& type, bool may_be_return) {
  const auto returned = may_be_return ? returned_.find(value) : returned_.end();
  const bool direct = type.kind == ValueKind::Array && returned != returned_.end();
  const BufferId id = new_buffer(direct                          ? fmt::format("result{}", returned->second)
                                 : type.kind == ValueKind::Array ? "tmp"
                                                                 : "s",
                                 type.dtype, canonical(type.shape));
  if (direct) {
    const bool known = out_.returns[returned->second].kind == FR_RETURN_ARRAY;
    out_.buffers[id].place = known ? loops::Place::Return : loops::Place::Dynamic;
    out_.buffers[id].index = returned->second;
  }
  memory_[value] = id;
  return id;
}

BufferId Lowering::memory_for(ValueId value, const ValueType& type) {
  if (memory_[value] != kNone) return memory_[value];
  const BufferId id = memory_without_make(value, type, true);
  if (type.kind == ValueKind::Array) make_if_opaque(id);
  return id;
}

void Lowering::plan_returns() {
  for (size_t r = 0; r < program_.results.size(); ++r) {
    const Result& result = program_.results[r];
    loops::Return ret;
    if (result.kind == ResultKind::None) {
      ret.kind = FR_RETURN_NONE;
    } else if (result.kind == ResultKind::Argument) {
      ret.kind = FR_RETURN_ARGUMENT;
      ret.argument = result.argument;
      ret.dtype = program_.arguments[result.argument].dtype;
      if (program_.arguments[result.argument].kind == ArgumentKind::Array) {
        ret.shape = canonical(program_.type(program_.arguments[result.argument].value).shape);
      }
    } else {
      const ValueType& type = program_.type(result.value);
      ret.dtype = type.dtype;
      ret.shape = canonical(type.shape);
      ret.weak = type.weak;
      ret.kind = type.kind == ValueKind::Scalar ? FR_RETURN_SCALAR
                 : known_at_entry(ret.shape)    ? FR_RETURN_ARRAY
                                                : FR_RETURN_DYNAMIC;
      BufferId base = type.kind == ValueKind::View ? type.buffer : kNone;
      Expr offset = 0;
      while (base != kNone && out_.buffers[base].place == loops::Place::Alias) {
        offset = offset + out_.buffers[base].offset;
        base = out_.buffers[base].base;
      }
      if (base != kNone && out_.buffers[base].place == loops::Place::Argument) {
        ret.kind = FR_RETURN_VIEW;
        ret.argument = out_.buffers[base].index;
        const std::vector<Expr> origin(type.shape.size(), Expr(0));
        ret.byte_offset =
            (linear_address(out_, view_access(type, origin)) + offset) * Expr(int64_t(item_size(type.dtype)));
        for (size_t axis = 0; axis < type.shape.size(); ++axis) ret.strides.push_back(view_stride(type, int(axis)));
      } else if (type.kind == ValueKind::Array) {
        returned_.insert({result.value, int(r)});
      }
    }
    out_.returns.push_back(std::move(ret));
  }
  // A return that reads the whole of memory made here, last of all that touches it, is that memory.
  std::vector<bool> allocated(program_.buffers.size(), false);
  const std::vector<Op>& ops = program_.body.ops;
  for (size_t at = 0; at < ops.size(); ++at) {
    if (ops[at].kind == OpKind::Alloc) allocated[ops[at].buffer] = true;
    if (ops[at].kind != OpKind::Load || !returned_.count(ops[at].results[0])) continue;
    const ValueType& view = program_.type(ops[at].operands[0]);
    if (!allocated[view.buffer] || returned_buffer_.count(view.buffer)) continue;
    if (!view.map.is_identity(program_.buffers[view.buffer].shape)) continue;
    const bool written = std::any_of(ops.begin() + int64_t(at), ops.end(),
                                     [&](const Op& later) { return may_write(program_, facts_, later, view.buffer); });
    if (written) continue;
    const int index = returned_[ops[at].results[0]];
    returned_buffer_.insert({view.buffer, index});
    elided_[ops[at].results[0]] = true;
    memory_[ops[at].results[0]] = view.buffer;
    out_.buffers[view.buffer].place =
        out_.returns[index].kind == FR_RETURN_ARRAY ? loops::Place::Return : loops::Place::Dynamic;
    out_.buffers[view.buffer].index = index;
  }
}

void Lowering::finish_returns() {
  for (size_t r = 0; r < program_.results.size(); ++r) {
    const loops::Return& ret = out_.returns[r];
    if (ret.kind != FR_RETURN_ARRAY && ret.kind != FR_RETURN_DYNAMIC && ret.kind != FR_RETURN_SCALAR) continue;
    const ValueId value = program_.results[r].value;
    if (memory_[value] != kNone && out_.buffers[memory_[value]].index == int(r)) {
      const loops::Place place = out_.buffers[memory_[value]].place;
      if (place == loops::Place::Return || place == loops::Place::Dynamic) continue;
    }
    const BufferId target = new_buffer(fmt::format("result{}", r), ret.dtype, ret.shape);
    out_.buffers[target].place = ret.kind == FR_RETURN_DYNAMIC ? loops::Place::Dynamic : loops::Place::Return;
    out_.buffers[target].index = int(r);
    if (ret.kind == FR_RETURN_DYNAMIC) append({loops::Make{.buffer = target}});
    copy(value, target);
  }
}

void Lowering::make_alias_pairs() {
  if (out_.alias_safe) return;
  for (size_t written = 0; written < program_.arguments.size(); ++written) {
    const Argument& w = program_.arguments[written];
    if (w.kind != ArgumentKind::Array || !w.written) continue;
    for (size_t other = 0; other < program_.arguments.size(); ++other) {
      const Argument& o = program_.arguments[other];
      if (other == written || o.kind != ArgumentKind::Array || !(o.read || o.written)) continue;
      if (o.written && other < written) continue;
      out_.alias.push_back({int(written), int(other), FR_ALIAS_DISJOINT});
    }
  }
}

// Pointers that nothing looks through are not bound, and no memory has to avoid them.
void Lowering::drop_unused_pointers() {
  std::vector<bool> used(out_.buffers.size(), false);
  const auto use = [&](BufferId buffer) {
    while (buffer != kNone && !used[buffer]) {
      used[buffer] = true;
      buffer = out_.buffers[buffer].place == loops::Place::Alias ? out_.buffers[buffer].base : kNone;
    }
  };
  loops::for_each_access(out_.body, [&](const loops::Access& access, bool) { use(access.buffer); });
  for (bool changed = true; changed;) {
    changed = false;
    loops::for_each_stmt(out_.body, [&](const loops::Stmt& stmt) {
      const auto* all = std::get_if<loops::BindAll>(&stmt.node);
      if (all == nullptr) return;
      for (const loops::Bind& bind : all->binds) {
        if (!used[bind.pointer] || used[bind.target.buffer]) continue;
        use(bind.target.buffer);
        changed = true;
      }
    });
  }
  const auto drop = [&](const auto& self, loops::Block& block) -> void {
    for (loops::Stmt& stmt : block) {
      if (auto* all = std::get_if<loops::BindAll>(&stmt.node)) {
        std::erase_if(all->binds, [&](const loops::Bind& bind) { return !used[bind.pointer]; });
      } else if (auto* make = std::get_if<loops::Make>(&stmt.node)) {
        std::erase_if(make->avoid, [&](BufferId pointer) { return !used[pointer]; });
        out_.buffers[make->buffer].slots = int(make->avoid.size()) + 1;
      }
      for_each_block(stmt, [&](loops::Block& inner) { self(self, inner); });
    }
    std::erase_if(block, [](const loops::Stmt& stmt) {
      const auto* all = std::get_if<loops::BindAll>(&stmt.node);
      return all != nullptr && all->binds.empty();
    });
  };
  drop(drop, out_.body);
}

loops::Loops Lowering::run() {
  make_buffers();
  plan_returns();
  block_ = &out_.body;
  lower_region(program_.body, out_.body);
  block_ = &out_.body;
  finish_returns();
  drop_unused_pointers();
  make_alias_pairs();
  return std::move(out_);
}

}  // namespace lowering

loops::Loops lower(const Program& program, const ProgramFacts& facts) {
  return lowering::Lowering(program, facts).run();
}

}  // namespace ferrule
