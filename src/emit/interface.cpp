#include "emit/interface.h"

namespace ferrule {
namespace {

InterfaceArgument argument_of(const Argument& a, const loops::Loops& loops) {
  InterfaceArgument made{.name = a.name,
                         .kind = static_cast<uint8_t>(a.kind),
                         .dtype = a.dtype,
                         .weak = a.weak,
                         .keyword_only = a.keyword_only,
                         .hidden = a.hidden,
                         .layout = a.layout,
                         .inner_axis = a.inner_axis,
                         .symbol = a.symbol,
                         .literal = a.kind == ArgumentKind::Static ? a.static_text : a.default_text};
  if (a.kind != ArgumentKind::Array) return made;
  const loops::Buffer& buffer = loops.buffers[a.buffer];
  made.written = a.written;
  made.read = a.read || !a.written;
  made.extents = buffer.shape;
  if (a.layout == Layout::Inner || a.layout == Layout::Any) made.strides = buffer.strides;
  return made;
}

}  // namespace

Interface interface_of(const loops::Loops& loops, const loops::Loops* alias_safe, bool strict_scalars) {
  Interface made{.name = loops.name,
                 .symbols = loops.symbols,
                 .returns = loops.returns,
                 .guards = loops.guards,
                 .alias = loops.alias,
                 .returns_tuple = loops.returns_tuple,
                 .alias_safe = loops.alias_safe,
                 .bounds_check = loops.bounds_check,
                 .strict_scalars = strict_scalars,
                 .arena_bytes = loops.arena_bytes,
                 .work = loops.work};
  for (const SymbolSource& source : loops.sources) made.sources.push_back({source, 0});
  for (const Argument& a : loops.arguments) made.arguments.push_back(argument_of(a, loops));
  // One arena serves both versions.
  if (alias_safe != nullptr && !(alias_safe->arena_bytes == loops.arena_bytes)) {
    made.arena_bytes = max(loops.arena_bytes, alias_safe->arena_bytes);
    made.arena_for_alias = loops.arena_bytes.is_constant(0);
  }
  return made;
}

}  // namespace ferrule
