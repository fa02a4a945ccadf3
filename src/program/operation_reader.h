// The operations of the text form, and the regions that they stand in.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "program/reader.h"
#include "program/text_constants.h"
#include "program/text_names.h"

namespace ferrule::text {

class OperationReader : public Reader {
 public:
  using Reader::Reader;

 protected:
  void operations(Region& region) {
    if (++depth_ > kDeepest) fail(at_, "too many nested regions");
    if (accept_word("params")) region.params = typed_definitions();
    while (!next_is('}')) {
      if (accept_word("yield")) {
        region.yields = references();
        break;
      }
      region.ops.push_back(operation());
    }
    --depth_;
  }

 private:
  Op operation() {
    skip();
    const size_t start = at_;
    if (next_is('%')) return operation_with_result();
    const std::string_view what = word("an operation");
    if (what == "symbolize") {
      Op op{.kind = OpKind::Symbolize};
      op.symbol = symbol_reference();
      expect("=");
      op.operands = {reference()};
      return op;
    }
    if (what == "store") {
      Op op{.kind = OpKind::Store};
      op.operands = references();
      return op;
    }
    if (what == "check") {
      Op op{.kind = OpKind::Check};
      test(op);
      expect_word("code");
      op.code = integer<int>();
      return op;
    }
    if (what == "for") return for_loop();
    if (what == "while") {
      Op op{.kind = OpKind::While};
      op.operands = parenthesised_references();
      two_regions(op, "do");
      return op;
    }
    if (what == "if") {
      Op op{.kind = OpKind::If};
      test(op);
      two_regions(op, "else");
      return op;
    }
    fail(start, fmt::format("unknown operation '{}'", what));
  }

  void test(Op& op) {
    if (next_is('('))
      op.condition = condition();
    else
      op.operands = {reference()};
  }

  std::vector<ValueId> parenthesised_references() {
    expect("(");
    std::vector<ValueId> ids = references();
    expect(")");
    return ids;
  }

  Op for_loop() {
    Op op{.kind = OpKind::For};
    op.symbol = symbol_reference();
    expect("=");
    skip();
    const size_t start = at_;
    const std::vector<Expr> range = expressions();
    if (range.size() != 3) fail(start, "expected [lo, hi, step]");
    op.lo = range[0];
    op.hi = range[1];
    op.step = range[2];
    op.operands = parenthesised_references();
    expect("{");
    op.regions.resize(1);
    operations(op.regions[0]);
    expect("}");
    if (accept("->")) op.results = typed_definitions();
    return op;
  }

  void two_regions(Op& op, std::string_view between) {
    op.regions.resize(2);
    expect("{");
    operations(op.regions[0]);
    expect("}");
    expect_word(between);
    expect("{");
    operations(op.regions[1]);
    expect("}");
    if (accept("->")) op.results = typed_definitions();
  }

  Op operation_with_result() {
    const size_t start = at_;
    const uint32_t number = value_number();
    expect("=");
    skip();
    const size_t what_at = at_;
    const std::string_view what = word("an operation");
    Op op;
    std::string_view constant;
    size_t constant_at = 0;
    bool has_map = false;
    if (what == "constant") {
      skip();
      constant_at = at_;
      constant = blank_delimited();
    } else if (what == "size") {
      op.kind = OpKind::Size;
      op.expr = single_expression();
    } else if (what == "cast") {
      op.kind = OpKind::Cast;
      op.operands = {reference()};
    } else if (what == "iota") {
      op.kind = OpKind::Iota;
      op.axes = {integer<int>()};
      has_map = true;
    } else if (what == "fill") {
      op.kind = OpKind::Fill;
      op.operands = {reference()};
      has_map = true;
    } else if (what == "remap") {
      return remap(number, start);
    } else if (what == "view") {
      op.kind = OpKind::View;
      op.operands = references();
    } else if (what == "load") {
      op.kind = OpKind::Load;
      op.operands = {reference()};
    } else if (what == "alloc") {
      op.kind = OpKind::Alloc;
      op.buffer = buffer_reference();
    } else if (what == "reduce") {
      op.kind = OpKind::Reduce;
      const size_t reduce_at = at_;
      const auto reduce_op = reduce_op_from_name(word("a reduction"));
      if (!reduce_op) fail(reduce_at, "unknown reduction");
      op.reduce_op = *reduce_op;
      op.operands = {reference()};
      expect("(");
      do op.axes.push_back(integer<int>());
      while (accept(","));
      expect(")");
    } else if (const auto element_op = element_op_from_name(what)) {
      op.kind = OpKind::Elementwise;
      op.element_op = *element_op;
      op.operands = references();
    } else {
      fail(what_at, fmt::format("unknown operation '{}'", what));
    }
    expect(":");
    ValueType t = type();
    if (op.kind == OpKind::Constant || op.kind == OpKind::Cast || op.kind == OpKind::Reduce || op.kind == OpKind::Alloc)
      op.dtype = t.dtype;
    if (op.kind == OpKind::Constant) {
      const auto bits = parse_constant(t.dtype, constant);
      if (!bits) fail(constant_at, fmt::format("'{}' is no constant of dtype {}", constant, name_of(t.dtype)));
      op.bits = *bits;
    }
    if (has_map) op.map.shape = t.shape;
    op.results = {define(number, start, std::move(t))};
    return op;
  }

  // Its map is over the result's indices, whose number the type tells: the type is read first.
  Op remap(uint32_t number, size_t start) {
    Op op{.kind = OpKind::Remap, .operands = {reference()}};
    const size_t map_at = at_;
    expect("[");
    pieces_until(']');
    expect(":");
    ValueType t = type();
    const size_t after = at_;
    at_ = map_at;
    op.map = index_map(t.shape);
    at_ = after;
    op.results = {define(number, start, std::move(t))};
    return op;
  }

  int depth_ = 0;
};

}  // namespace ferrule::text
