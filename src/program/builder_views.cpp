// Shapes and addresses: broadcasting, windows, reshapes, buffers.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/builder.h"
#include "program/promote.h"

namespace ferrule {
namespace {

std::vector<Expr> dense_strides(const std::vector<Expr>& shape) {
  std::vector<Expr> strides(shape.size(), Expr(1));
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::vector<int> wide_axes(const std::vector<Expr>& shape, const Facts& facts) {
  std::vector<int> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is_constant(1) && facts.prove({Relation::Eq, shape[i], Expr(1)}) != true)
      axes.push_back(static_cast<int>(i));
  return axes;
}

// Runs of old and new axes that hold the same elements, both in order.
struct Group {
  size_t old_begin, old_end, new_begin, new_end;
};

}  // namespace

BufferId ProgramBuilder::new_buffer(Buffer buffer) {
  program_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(program_.buffers.size()) - 1;
}

ValueId ProgramBuilder::whole_view(BufferId id) {
  const Buffer& buffer = program_.buffers[id];
  return new_value({.kind = ValueKind::View,
                    .dtype = buffer.dtype,
                    .shape = buffer.shape,
                    .buffer = id,
                    .map = IndexMap::identity(buffer.shape)});
}

ValueId ProgramBuilder::alloc(std::string name, DType dtype, std::vector<Expr> shape) {
  for (Expr& extent : shape) extent = facts_.canonical(extent);
  const BufferId buffer = new_buffer({.name = std::move(name), .dtype = dtype, .shape = shape});
  Op op{.kind = OpKind::Alloc, .dtype = dtype};
  op.buffer = buffer;
  ValueType type{
      .kind = ValueKind::View, .dtype = dtype, .shape = shape, .buffer = buffer, .map = IndexMap::identity(shape)};
  return append(std::move(op), std::move(type));
}

ValueId ProgramBuilder::constant_array(std::string name, DType dtype, std::vector<int64_t> shape,
                                       std::vector<uint8_t> bytes) {
  int64_t count = item_size(dtype);
  for (const int64_t extent : shape) count *= extent;
  if (count != static_cast<int64_t>(bytes.size()))
    throw internal_error(fmt::format("The constant '{}' needs {} bytes, got {}.", name, count, bytes.size()));
  std::vector<Expr> extents(shape.begin(), shape.end());
  const BufferId buffer = new_buffer({.name = std::move(name),
                                      .dtype = dtype,
                                      .shape = extents,
                                      .storage = Storage::Constant,
                                      .bytes = std::move(bytes)});
  ValueType type{
      .kind = ValueKind::View, .dtype = dtype, .shape = extents, .buffer = buffer, .map = IndexMap::identity(extents)};
  return append(Op{.kind = OpKind::View}, std::move(type));
}

std::vector<Expr> ProgramBuilder::strides_of(BufferId id) const {
  const Buffer& buffer = program_.buffers[id];
  return buffer.strides.empty() ? dense_strides(buffer.shape) : buffer.strides;
}

std::vector<Expr> ProgramBuilder::view_strides(ValueId view) const {
  const ValueType& type = use(view);
  if (type.kind != ValueKind::View) throw internal_error("Only a view has strides.");
  return linear_strides(type);
}

std::vector<Expr> ProgramBuilder::linear_strides(const ValueType& view) const {
  const std::vector<Expr> strides = strides_of(view.buffer);
  std::vector<Expr> result(view.shape.size(), Expr(0));
  for (size_t i = 0; i < strides.size(); ++i)
    for (const AxisTerm& term : view.map.axes[i].terms) result[term.axis] = result[term.axis] + strides[i] * term.step;
  return result;
}

Expr ProgramBuilder::view_offset(const ValueType& view) const {
  const std::vector<Expr> strides = strides_of(view.buffer);
  Expr offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) offset = offset + strides[i] * view.map.axes[i].start;
  return offset;
}

void ProgramBuilder::check_not_constant(BufferId id) const {
  while (program_.buffers[id].storage == Storage::Alias) id = program_.buffers[id].base;
  if (program_.buffers[id].storage == Storage::Constant)
    throw unsupported(fmt::format("Ferrule does not store into the constant array '{}'; store into a copy of it.",
                                  program_.buffers[id].name));
}

bool ProgramBuilder::same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](const Expr& x, const Expr& y) {
           return x == y || facts_.prove_equal(x, y);
         });
}

std::string ProgramBuilder::shape_text(const std::vector<Expr>& shape) const {
  const SymbolNames names = program_.symbols.names();
  std::string text;
  for (const Expr& extent : shape) text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(extent, names));
  return shape.size() == 1 ? fmt::format("({},)", text) : fmt::format("({})", text);
}

std::vector<Expr> ProgramBuilder::broadcast_shape(std::string_view what, std::span<const ValueId> operands) const {
  size_t rank = 0;
  for (const ValueId id : operands) rank = std::max(rank, program_.values[id].shape.size());
  std::vector<Expr> result(rank, Expr(1));
  for (const ValueId id : operands) {
    const std::vector<Expr>& shape = program_.values[id].shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      Expr& joined = result[rank - shape.size() + i];
      if (joined == shape[i]) continue;
      const Expr extent = facts_.canonical(shape[i]);
      if (extent == joined || extent.is_constant(1)) continue;
      if (joined.is_constant(1)) {
        joined = extent;
        continue;
      }
      if (facts_.prove_equal(joined, extent)) continue;
      std::string shapes;
      for (const ValueId operand : operands) shapes += " " + shape_text(program_.values[operand].shape);
      throw user_error(
          fmt::format("The operands of '{}' cannot be broadcast together with shapes{}; extents must be equal or 1.",
                      what, shapes));
    }
  }
  return result;
}

ValueId ProgramBuilder::broadcast_to(ValueId value, const std::vector<Expr>& shape) {
  const std::vector<Expr> source = program_.values[value].shape;
  if (same_shape(source, shape)) return value;
  const size_t extra = shape.size() - source.size();
  IndexMap map{shape, {}};
  for (size_t i = 0; i < source.size(); ++i) {
    AxisMap axis;
    if (!facts_.canonical(source[i]).is_constant(1)) axis.terms.push_back({static_cast<int>(extra + i), 1});
    map.axes.push_back(std::move(axis));
  }
  return remap(value, std::move(map));
}

ValueId ProgramBuilder::remap(ValueId array, IndexMap map) {
  const ValueType& type = program_.values[array];
  if (type.kind != ValueKind::Array) throw internal_error("Only an array value can be looked at through another map.");
  if (map.is_identity(type.shape)) return array;
  const DType dtype = type.dtype;
  if (const Op* made_by = definition(array)) {
    if (made_by->kind == OpKind::Fill) return fill(made_by->operands[0], std::move(map.shape));
    if (made_by->kind == OpKind::Remap) return remap(made_by->operands[0], made_by->map.then(map));
  }
  Op op{.kind = OpKind::Remap, .operands = {array}};
  op.map = map;
  ValueType result{
      .kind = map.shape.empty() ? ValueKind::Scalar : ValueKind::Array, .dtype = dtype, .shape = map.shape};
  return append(std::move(op), std::move(result));
}

ValueId ProgramBuilder::window(ValueId value, IndexMap map) {
  const ValueType type = use(value);
  if (map.axes.size() != type.shape.size())
    throw internal_error(
        fmt::format("A window over {} axes was given {} of them.", type.shape.size(), map.axes.size()));
  if (type.kind == ValueKind::Scalar) return fill(value, std::move(map.shape));
  if (type.kind == ValueKind::Array) return remap(value, std::move(map));
  if (map.is_identity(type.shape)) return value;
  ValueType result = type;
  result.map = type.map.then(map);
  result.shape = std::move(map.shape);
  return append(Op{.kind = OpKind::View, .operands = {value}}, std::move(result));
}

ValueId ProgramBuilder::reshape(ValueId value, std::vector<Expr> shape) {
  const ValueType type = use(value);
  for (Expr& extent : shape) extent = facts_.canonical(extent);
  std::vector<Expr> old_shape;
  for (const Expr& extent : type.shape) old_shape.push_back(facts_.canonical(extent));
  if (!facts_.prove_equal(product(old_shape), product(shape)))
    throw user_error(
        fmt::format("An array of shape {} cannot be reshaped to {}; the numbers of elements must be equal.",
                    shape_text(old_shape), shape_text(shape)));
  if (type.kind == ValueKind::Scalar) return fill(value, std::move(shape));

  // Axes of extent 1 come and go by a window.
  const std::vector<int> old_axes = wide_axes(old_shape, facts_), new_axes = wide_axes(shape, facts_);
  std::vector<Expr> old_wide, new_wide;
  for (const int axis : old_axes) old_wide.push_back(old_shape[axis]);
  for (const int axis : new_axes) new_wide.push_back(shape[axis]);
  if (same_shape(old_wide, new_wide)) {
    IndexMap map{shape, std::vector<AxisMap>(old_shape.size())};
    for (size_t i = 0; i < old_axes.size(); ++i) map.axes[old_axes[i]].terms.push_back({new_axes[i], 1});
    return window(value, std::move(map));
  }
  if (type.kind == ValueKind::Array) {
    const ValueId copy = alloc("reshaped", type.dtype, old_shape);
    store(copy, value);
    return load(reshape(copy, std::move(shape)));
  }

  // The shortest runs of axes with equal products.
  std::vector<Group> groups;
  size_t old_at = 0, new_at = 0;
  while (old_at < old_wide.size() || new_at < new_wide.size()) {
    const size_t old_left = old_wide.size() - old_at, new_left = new_wide.size() - new_at;
    bool found = false;
    for (size_t total = 2; !found && total <= old_left + new_left; ++total) {
      for (size_t n = 1; !found && n < total; ++n) {
        const size_t m = total - n;
        if (n > old_left || m > new_left) continue;
        if (!facts_.prove_equal(product(std::span(old_wide).subspan(old_at, n)),
                                product(std::span(new_wide).subspan(new_at, m))))
          continue;
        groups.push_back({old_at, old_at + n, new_at, new_at + m});
        old_at += n;
        new_at += m;
        found = true;
      }
    }
    if (!found) return kNone;
  }
  const std::vector<Expr> all_strides = linear_strides(type);
  std::vector<Expr> strides(shape.size(), Expr(0));
  for (const Group& group : groups) {
    for (size_t i = group.old_begin; i + 1 < group.old_end; ++i)
      if (!facts_.prove_equal(all_strides[old_axes[i]], all_strides[old_axes[i + 1]] * old_wide[i + 1])) return kNone;
    Expr stride = all_strides[old_axes[group.old_end - 1]];
    for (size_t i = group.new_end; i-- > group.new_begin;) {
      strides[new_axes[i]] = stride;
      stride = stride * new_wide[i];
    }
  }
  const Buffer& buffer = program_.buffers[type.buffer];
  const bool aliased = buffer.storage == Storage::Alias;
  Buffer alias{.name = buffer.name + "_reshaped",
               .dtype = type.dtype,
               .shape = shape,
               .strides = std::move(strides),
               .storage = Storage::Alias,
               .base = aliased ? buffer.base : type.buffer,
               .offset = aliased ? buffer.offset + view_offset(type) : view_offset(type)};
  BufferId id = kNone;
  for (BufferId known = 0; known < program_.buffers.size() && id == kNone; ++known) {
    const Buffer& b = program_.buffers[known];
    if (b.storage == Storage::Alias && b.base == alias.base && b.offset == alias.offset && b.shape == alias.shape &&
        b.strides == alias.strides)
      id = known;
  }
  if (id == kNone) id = new_buffer(std::move(alias));
  ValueType result{
      .kind = ValueKind::View, .dtype = type.dtype, .shape = shape, .buffer = id, .map = IndexMap::identity(shape)};
  return append(Op{.kind = OpKind::View, .operands = {value}}, std::move(result));
}

}  // namespace ferrule
