#include <fmt/format.h>

#include <algorithm>

#include "emit/interface.h"
#include "signature/sizes.h"

namespace ferrule {
namespace {

uint8_t kind_of(SignatureKind kind) {
  switch (kind) {
    case SignatureKind::Array:
      return FR_ARG_ARRAY;
    case SignatureKind::Scalar:
      return FR_ARG_SCALAR;
    case SignatureKind::Record:
      return FR_ARG_RECORD;
    case SignatureKind::String:
      return FR_ARG_STRING;
    case SignatureKind::Object:
      return FR_ARG_OBJECT;
    case SignatureKind::Callback:
      return FR_ARG_CALLBACK;
    case SignatureKind::Pointers:
      return FR_ARG_POINTERS;
  }
  return FR_ARG_ARRAY;
}

InterfaceArgument parameter_of(const SignatureArgument& p, const std::vector<Expr>& shape) {
  return {.name = p.name,
          .kind = kind_of(p.kind),
          .dtype = p.dtype,
          .read = p.intent != Intent::Out,
          .written = p.intent != Intent::In,
          .extents = shape};
}

InterfaceArgument argument_of(const Signature& signature, const Sizes& sizes, size_t index) {
  const SignatureArgument& a = signature.arguments[index];
  InterfaceArgument made{.name = a.name,
                         .kind = kind_of(a.kind),
                         .dtype = a.dtype,
                         .optional = a.optional,
                         .read = a.intent != Intent::Out,
                         .written = a.intent != Intent::In,
                         .layout = static_cast<Layout>(a.order),
                         .inner_axis = std::max(a.inner_axis, 0),
                         .extents = sizes.shapes[index],
                         .strides = sizes.strides[index],
                         .literal = a.default_text.empty() && a.optional ? "None" : a.default_text,
                         .record = a.record,
                         .result = a.result};
  for (size_t p = 0; p < a.parameters.size(); ++p)
    made.parameters.push_back(parameter_of(a.parameters[p], sizes.callback_shapes[index][p]));
  for (const SizeSource& source : sizes.sources)
    if (source.kind == SizeSource::Kind::Scalar && source.argument == static_cast<int>(index))
      made.symbol = source.symbol;
  return made;
}

// The order in which arguments come: those of arg_names, symbols among them, then the others by keyword only.
std::vector<InterfaceArgument> ordered_arguments(const Signature& signature, const Sizes& sizes) {
  std::vector<InterfaceArgument> ordered;
  std::vector<bool> taken(signature.arguments.size());
  const auto take = [&](size_t i, bool keyword_only) {
    taken[i] = true;
    ordered.push_back(argument_of(signature, sizes, i));
    ordered.back().keyword_only = keyword_only;
  };
  if (signature.arg_names) {
    for (const std::string& name : *signature.arg_names) {
      if (const SignatureArgument* a = signature.argument(name)) {
        take(static_cast<size_t>(a - signature.arguments.data()), false);
        continue;
      }
      const SignatureSymbol& symbol = *signature.symbol(name);
      const auto id = static_cast<SymbolId>(&symbol - signature.symbols.data());
      ordered.push_back({.name = name, .kind = FR_ARG_SCALAR, .dtype = symbol.dtype, .symbol = id});
    }
  }
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) take(i, signature.arg_names.has_value());
  return ordered;
}

class Sources {
 public:
  Sources(const Signature& signature, const Sizes& sizes, Interface& made)
      : signature_(signature), sizes_(sizes), made_(made) {}

  void add() {
    for (const AxisSymbol& extent : sizes_.extents)
      push({.symbol = extent.symbol,
            .source = FR_SYMBOL_EXTENT,
            .argument = place_of(extent.argument),
            .axis = extent.axis});
    for (const SizeSource& source : sizes_.sources) add_one(source);
    for (const AxisSymbol& stride : sizes_.free_strides)
      push({.symbol = stride.symbol,
            .source = FR_SYMBOL_STRIDE,
            .argument = place_of(stride.argument),
            .axis = stride.axis});
  }

 private:
  void push(SymbolSource source, Expr derived = 0) { made_.sources.push_back({source, std::move(derived)}); }

  int place_of(const std::string& name) const {
    for (size_t i = 0; i < made_.arguments.size(); ++i)
      if (made_.arguments[i].name == name) return static_cast<int>(i);
    return -1;
  }
  int place_of(int argument) const { return place_of(signature_.arguments[static_cast<size_t>(argument)].name); }

  void add_one(const SizeSource& source) {
    SymbolSource made{
        .symbol = source.symbol, .axis = source.axis, .coefficient = source.coefficient, .offset = source.offset};
    switch (source.kind) {
      case SizeSource::Kind::Extent:
      case SizeSource::Kind::Stride:
        made.source = source.kind == SizeSource::Kind::Extent ? FR_SYMBOL_EXTENT : FR_SYMBOL_STRIDE;
        made.argument = place_of(source.argument);
        return push(made);
      case SizeSource::Kind::Scalar:
        made.source = FR_SYMBOL_SCALAR;
        made.argument = place_of(source.argument);
        return push(made);
      case SizeSource::Kind::Position:
        made.source = FR_SYMBOL_SCALAR;
        made.argument = place_of(signature_.symbols[source.symbol].name);
        return push(made);
      case SizeSource::Kind::Joint:
        made.source = FR_SYMBOL_DERIVED;
        return push(made, source.value);
      case SizeSource::Kind::Keyword:
        made.source = FR_SYMBOL_EXPLICIT;
        return push(made);
    }
  }

  const Signature& signature_;
  const Sizes& sizes_;
  Interface& made_;
};

// Symbols arrive as 64 bits; those of a narrower type must fit it.
void add_ranges(const Signature& signature, Interface& made) {
  for (SymbolId id = 0; id < signature.symbols.size(); ++id) {
    const SignatureSymbol& symbol = signature.symbols[id];
    if (item_size(symbol.dtype) == 8) continue;
    const IntegerRange range = range_of(symbol.dtype);
    const auto high = static_cast<int64_t>(range.high);
    made.guards.push_back(
        {{Relation::Le, Expr::symbol(id), high},
         fmt::format("{} <= {}, since '{}' is an {}", symbol.name, high, symbol.name, name_of(symbol.dtype)),
         false});
    if (!symbol.nonnegative)
      made.guards.push_back(
          {{Relation::Le, Expr(range.low), Expr::symbol(id)},
           fmt::format("{} <= {}, since '{}' is an {}", range.low, symbol.name, symbol.name, name_of(symbol.dtype)),
           false});
  }
}

// Nothing is known of the author's loops: one operation for each element of the arrays. None where the function is
// given Python objects, which are borrowed while the interpreter's lock is held.
Expr estimated_work(const Interface& made) {
  Expr work = 0;
  for (const InterfaceArgument& a : made.arguments) {
    if (a.kind == FR_ARG_OBJECT || (a.kind == FR_ARG_ARRAY && a.dtype == DType::Object)) return 0;
    if (a.kind != FR_ARG_ARRAY) continue;
    Expr elements = 1;
    for (const Expr& extent : a.extents) elements = elements * extent;
    work = work + elements;
  }
  return work;
}

void add_user_args(const Interface& made, const UserSlots& slots, std::vector<int32_t>& words) {
  for (const UserSlot& slot : slots) {
    if (slot.is_tuple) {
      words.push_back(FR_USER_OPEN);
      add_user_args(made, slot.slots, words);
      words.push_back(FR_USER_CLOSE);
      continue;
    }
    const auto named = [&](const InterfaceArgument& a) { return a.name == slot.name; };
    const auto found = std::find_if(made.arguments.begin(), made.arguments.end(), named);
    words.push_back(slot.name.empty() ? FR_USER_IGNORED : static_cast<int32_t>(found - made.arguments.begin()));
  }
}

void add_state(const Signature& signature, const Sizes& sizes, Interface& made) {
  made.stateless = signature.init.name.empty() && signature.exit.name.empty();
  for (size_t i = 0; i < signature.workspaces.size(); ++i)
    made.workspaces.push_back(
        {signature.workspaces[i].name, sizes.workspace_bytes[i], signature.workspaces[i].alignment});
  for (const std::string& name : signature.persistent)
    made.persistent.push_back(static_cast<SymbolId>(signature.symbol(name) - signature.symbols.data()));
  for (const SignatureStatus& status : signature.statuses) made.statuses.emplace_back(status.status, status.text);
  if (signature.user_args) add_user_args(made, *signature.user_args, made.user_args);
}

}  // namespace

Interface interface_of(const Signature& signature) {
  Sizes sizes = sizes_of(signature);
  Interface made{.name = signature.name,
                 .symbols = sizes.symbols,
                 .returns_tuple = signature.returns_tuple,
                 .alias_safe = signature.may_alias,
                 .bounds_check = false,
                 .strict_scalars = signature.strict_scalars,
                 .return_override = signature.return_override,
                 .coerces = !signature.coerce.empty(),
                 .error_check = signature.error_check,
                 .release_gil = signature.release_gil};
  made.arguments = ordered_arguments(signature, sizes);
  Sources(signature, sizes, made).add();
  add_ranges(signature, made);
  add_state(signature, sizes, made);
  for (size_t i = 0; i < signature.returns.size(); ++i) {
    const SignatureReturn& r = signature.returns[i];
    const uint8_t kind = r.kind == SignatureKind::Array ? FR_RETURN_ARRAY : FR_RETURN_SCALAR;
    made.returns.push_back({.kind = kind, .dtype = r.dtype, .shape = sizes.return_shapes[i]});
    made.return_names.push_back(r.name);
    made.return_records.push_back(r.record);
  }
  made.work = estimated_work(made);
  const auto is_array = [](const InterfaceArgument& a) { return a.kind == FR_ARG_ARRAY; };
  for (int w = 0; !made.alias_safe && w < static_cast<int>(made.arguments.size()); ++w)
    for (int o = 0; o < static_cast<int>(made.arguments.size()); ++o)
      if (w != o && made.arguments[static_cast<size_t>(w)].written &&
          is_array(made.arguments[static_cast<size_t>(w)]) && is_array(made.arguments[static_cast<size_t>(o)]))
        made.alias.push_back({w, o, FR_ALIAS_DISJOINT});
  return made;
}

}  // namespace ferrule
