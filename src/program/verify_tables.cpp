#include <algorithm>

#include "program/normalize.h"
#include "program/verifier.h"
#include "program/visit.h"

namespace ferrule {

void Verifier::known(const Expr& e) const {
  for (const SymbolId id : e.symbols()) require(id < p_.symbols.size(), "a symbol lies in the program's table");
}

void Verifier::buffer(BufferId id) {
  const Buffer& b = p_.buffers[id];
  for_each_expr_of_buffer(b, [&](const Expr& e) { known(e); });
  require(b.strides.empty() || b.strides.size() == b.shape.size(), "a buffer has one stride an axis");
  require(b.base == kNone || b.storage == Storage::Alias, "only an alias buffer has a base");
  switch (b.storage) {
    case Storage::Argument:
      require(b.argument >= 0 && b.argument < static_cast<int>(p_.arguments.size()) &&
                  p_.arguments[b.argument].kind == ArgumentKind::Array && p_.arguments[b.argument].buffer == id,
              "an argument buffer belongs to its array argument");
      break;
    case Storage::Constant: {
      int64_t bytes = item_size(b.dtype);
      for (const Expr& expr : b.shape) {
        const int64_t extent = expr.constant().value_or(-1);
        require(extent >= 0, "the extents of a constant are numbers");
        require(!__builtin_mul_overflow(bytes, extent, &bytes), "a constant is not larger than memory");
      }
      require(bytes == static_cast<int64_t>(b.bytes.size()), "a constant has the bytes of its shape");
      break;
    }
    case Storage::Transient:
      break;
    case Storage::Carried:
      require(b.strides.size() == b.shape.size(), "a carried buffer has strides");
      require(std::is_sorted(b.may_be.begin(), b.may_be.end()), "the buffers that a carried one stands for ascend");
      for (const BufferId root : b.may_be)
        require(root < p_.buffers.size() && p_.buffers[root].storage != Storage::Carried &&
                    p_.buffers[root].storage != Storage::Alias,
                "a carried buffer stands for buffers with memory of their own");
      break;
    case Storage::Alias:
      require(b.base < p_.buffers.size() && p_.buffers[b.base].storage != Storage::Alias,
              "the base of an alias is no alias");
      require(p_.buffers[b.base].dtype == b.dtype, "an alias has its base's dtype");
      require(b.strides.size() == b.shape.size(), "an alias has strides");
      break;
  }
}

void Verifier::map(const IndexMap& m, size_t source_rank) const {
  require(m.axes.size() == source_rank, "a map has one entry for each source axis");
  for (const AxisMap& axis : m.axes) {
    int last = -1;
    for (const AxisTerm& term : axis.terms) {
      require(term.axis > last && term.axis < static_cast<int>(m.shape.size()),
              "the terms of a map ascend within its axes");
      last = term.axis;
    }
  }
}

void Verifier::type(const ValueType& t) const {
  for_each_expr_of_type(t, [&](const Expr& e) { known(e); });
  require(t.kind == ValueKind::View || t.buffer == kNone, "only a view has a buffer");
  switch (t.kind) {
    case ValueKind::Scalar:
      require(t.shape.empty(), "a scalar has no shape");
      break;
    case ValueKind::Array:
      require(!t.shape.empty(), "an array without axes is a scalar");
      require(!t.weak, "an array is not weak");
      break;
    case ValueKind::View:
      require(t.buffer < p_.buffers.size(), "a view has a buffer");
      require(t.dtype == p_.buffers[t.buffer].dtype, "a view has its buffer's dtype");
      require(t.map.shape == t.shape, "the map of a view has the view's shape");
      require(!t.weak, "a view is not weak");
      map(t.map, p_.buffers[t.buffer].shape.size());
      break;
  }
  if (t.kind != ValueKind::View) require(is_computable(t.dtype), "values have dtypes that are computed with");
}

void Verifier::argument(int index) {
  const Argument& a = p_.arguments[index];
  if (a.kind == ArgumentKind::Static) {
    require(a.value == kNone && a.buffer == kNone, "a static argument has no value");
    return;
  }
  require(a.value < p_.values.size(), "an argument has a value");
  const ValueType& t = p_.values[a.value];
  require(t.dtype == a.dtype, "an argument has its value's dtype");
  define(a.value);
  if (a.kind == ArgumentKind::Array) {
    require(a.buffer < p_.buffers.size() && p_.buffers[a.buffer].storage == Storage::Argument &&
                p_.buffers[a.buffer].argument == index,
            "an array argument has a buffer of its own");
    require(t.kind == ValueKind::View && t.buffer == a.buffer, "an array argument's value views its buffer");
    require(a.inner_axis >= 0 && (a.inner_axis == 0 || a.inner_axis < static_cast<int>(t.shape.size())),
            "the inner axis exists");
    require(a.layout == Layout::C || t.shape.empty() || !p_.buffers[a.buffer].strides.empty(),
            "layouts other than C have strides");
  } else {
    require(t.kind == ValueKind::Scalar && t.weak == a.weak, "a scalar argument's value is a scalar");
    require(a.symbol == kNone ||
                (a.weak && is_integer(a.dtype) && a.symbol < p_.symbols.size() && !local_symbols_.contains(a.symbol)),
            "the symbol of a scalar argument is that of a weak integer");
  }
}

void Verifier::source(const SymbolSource& s) const {
  require(s.symbol < p_.symbols.size(), "a symbol lies in the program's table");
  require(s.coefficient != 0, "the coefficient of a source is not zero");
  if (s.source == FR_SYMBOL_EXPLICIT) return;
  require(s.argument >= 0 && s.argument < static_cast<int>(p_.arguments.size()), "a source is an argument");
  const Argument& a = p_.arguments[s.argument];
  if (s.source == FR_SYMBOL_SCALAR) {
    require(a.kind == ArgumentKind::Scalar && is_integer(a.dtype),
            "the source of a scalar symbol is an integer argument");
    return;
  }
  require(a.kind == ArgumentKind::Array && s.axis >= 0 && s.axis < static_cast<int>(p_.buffers[a.buffer].shape.size()),
          "the source of an extent or a stride is an axis of an array argument");
}

void Verifier::result(const Result& r) const {
  if (r.kind == ResultKind::None) return;
  if (r.kind == ResultKind::Argument) {
    require(r.argument >= 0 && r.argument < static_cast<int>(p_.arguments.size()),
            "a result that is an argument names one");
    return;
  }
  const ValueType& t = use(r.value);
  if (t.kind != ValueKind::View) return;
  for (const BufferId root : roots_of(p_, t.buffer))
    require(p_.buffers[root].storage == Storage::Argument, "a view that is returned looks at an argument");
}

void Verifier::flags() const {
  Program copy = p_;
  set_access_flags(copy);
  for (size_t i = 0; i < p_.arguments.size(); ++i)
    require(copy.arguments[i].read == p_.arguments[i].read && copy.arguments[i].written == p_.arguments[i].written,
            "arguments are marked as read and written as the body does");
}

}  // namespace ferrule
