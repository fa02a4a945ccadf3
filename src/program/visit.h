// Walks over every operation and every size expression of a Program.
#pragma once

#include "program/program.h"

namespace ferrule {

// Calls f(op) for every operation in program order, an operation before those in its regions.
template <class RegionT, class F>
void for_each_op(RegionT& region, F&& f) {
  for (auto& op : region.ops) {
    f(op);
    for (auto& inner : op.regions) for_each_op(inner, f);
  }
}

// Calls f(expr) for every expression of a map, a condition, an operation (its regions left out), a type, a buffer.
template <class MapT, class F>
void for_each_expr_of_map(MapT& map, F&& f) {
  for (auto& extent : map.shape) f(extent);
  for (auto& axis : map.axes) {
    f(axis.start);
    for (auto& term : axis.terms) f(term.step);
  }
}

template <class OpT, class F>
void for_each_expr_of_op(OpT& op, F&& f) {
  for_each_expr_of_map(op.map, f);
  f(op.expr);
  f(op.lo);
  f(op.hi);
  f(op.step);
  if (op.condition) {
    f(op.condition->left);
    f(op.condition->right);
  }
}

template <class TypeT, class F>
void for_each_expr_of_type(TypeT& type, F&& f) {
  for (auto& extent : type.shape) f(extent);
  for_each_expr_of_map(type.map, f);
}

template <class BufferT, class F>
void for_each_expr_of_buffer(BufferT& buffer, F&& f) {
  for (auto& extent : buffer.shape) f(extent);
  for (auto& stride : buffer.strides) f(stride);
  f(buffer.offset);
}

}  // namespace ferrule
