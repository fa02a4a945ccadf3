#include <cstring>

#include "emit/literal.h"
#include "emit/run_text.h"

namespace ferrule {

using loops::BindAll;
using loops::Make;
using loops::Place;
using loops::Stmt;

namespace {

// Constants up to this many elements are spelled as numbers, larger ones as one string of bytes, which parses faster.
constexpr size_t kSpelledElements = 1024;

}  // namespace

void RunText::write_constants() {
  for (BufferId id = 0; id < loops_.buffers.size(); ++id) {
    const loops::Buffer& buffer = loops_.buffers[id];
    if (buffer.place != Place::Constant) continue;
    const size_t item = size_t(item_size(buffer.dtype)), count = buffer.bytes.size() / item;
    const std::string type(cpp_name(buffer.dtype));
    const std::string& name = names_.buffer(id);
    if (count == 0) {
      functions_.line("static const {} {}[1] = {{}};", type, name);
    } else if (count <= kSpelledElements) {
      std::string items;
      for (size_t k = 0; k < count; ++k) {
        uint64_t bits = 0;
        std::memcpy(&bits, buffer.bytes.data() + k * item, item);
        items += (k == 0 ? "" : ", ") + literal(buffer.dtype, bits);
      }
      functions_.line("alignas(64) static const {} {}[{}] = {{{}}};", type, name, count, items);
    } else {
      const std::string_view bytes(reinterpret_cast<const char*>(buffer.bytes.data()), buffer.bytes.size());
      functions_.line("alignas(64) static const char {}_bytes[] = {};", name, quoted(bytes));
      functions_.line("static const {0}* const {1} = reinterpret_cast<const {0}*>({1}_bytes);", type, name);
    }
  }
}

// Where arguments, results, scalars and memory come from: what the body names, nothing else.
void RunText::write_prologue(Text& text) {
  Uses all;
  for (const Stmt& stmt : loops_.body) {
    const Uses uses = uses_of(stmt);
    all.pointers.insert(uses.pointers.begin(), uses.pointers.end());
    all.variables.insert(uses.variables.begin(), uses.variables.end());
    all.variables.insert(uses.written_variables.begin(), uses.written_variables.end());
    all.symbols.insert(uses.symbols.begin(), uses.symbols.end());
    all.defined.insert(uses.defined.begin(), uses.defined.end());
  }
  for_each_stmt(loops_.body, [&](const Stmt& stmt) {
    if (const BindAll* binds = std::get_if<BindAll>(&stmt.node)) {
      for (const loops::Bind& bind : binds->binds) {
        all.pointers.insert(bind.pointer);
        add_access(all, bind.target, false);
      }
    }
    if (const Make* make = std::get_if<Make>(&stmt.node)) {
      all.pointers.insert(make->buffer);
      for (const Expr& extent : loops_.buffers[make->buffer].shape) add_expr(all, extent);
      add_expr(all, loops_.buffers[make->buffer].offset), add_expr(all, loops_.buffers[make->buffer].slot_bytes);
      for (BufferId pointer : make->avoid) all.pointers.insert(pointer);
    }
  });
  for (const loops::Return& ret : loops_.returns) {
    if (ret.kind != FR_RETURN_VIEW) continue;
    add_expr(all, ret.byte_offset);
    for (const Expr& e : ret.shape) add_expr(all, e);
    for (const Expr& e : ret.strides) add_expr(all, e);
  }
  bool arena = false;
  for (BufferId b : all.pointers) {
    if (loops_.buffers[b].place != Place::Arena) continue;
    arena = true;
    add_expr(all, loops_.buffers[b].offset);
  }

  for (size_t slot = 0; slot < loops_.sources.size(); ++slot) {
    const SymbolId symbol = loops_.sources[slot].symbol;
    if (all.symbols.count(symbol)) text.line("const int64_t {} = call->symbols[{}];", names_.symbol(symbol), slot);
  }
  for (SymbolId symbol : all.defined) {
    if (define_uses_[symbol] > 1) text.line("int64_t {} = 0;", names_.symbol(symbol));
  }
  if (arena) text.line("char* const arena = static_cast<char*>(call->arena);");
  for (BufferId b : all.variables) {
    const loops::Buffer& buffer = loops_.buffers[b];
    const std::string type(cpp_name(buffer.dtype));
    if (buffer.place == Place::Argument) {
      text.line("const {0} {1} = *static_cast<const {0}*>(call->args[{2}]);", type, names_.buffer(b), buffer.index);
    } else if (variable_uses_[b] > 1) {
      text.line("{} {} = {};", type, names_.buffer(b), literal(buffer.dtype, 0));
    }
  }
  for (BufferId b : all.pointers) {
    const loops::Buffer& buffer = loops_.buffers[b];
    const std::string type(cpp_name(buffer.dtype));
    const std::string& name = names_.buffer(b);
    switch (buffer.place) {
      case Place::Argument:
        text.line("{0}* const {1} = static_cast<{0}*>(call->args[{2}]);", type, name, buffer.index);
        break;
      case Place::Return:
        text.line("{0}* const {1} = static_cast<{0}*>(call->args[{2}]);", type, name,
                  int(loops_.arguments.size()) + buffer.index);
        break;
      case Place::Arena:
        text.line("{0}* {1}{2} = reinterpret_cast<{0}*>(arena + {3});", type, buffer.slots == 1 ? "const " : "", name,
                  expr(buffer.offset));
        break;
      case Place::Local:
        text.line("alignas(64) {} {}[{}];", type, name, expr(max(product(buffer.shape), 1)));
        break;
      case Place::Scratch:
        if (buffer.slots == 1) text.line("int64_t {}_bytes = 0;", name);
        [[fallthrough]];
      case Place::Dynamic:
      case Place::Pointer:
        text.line("{}* {} = nullptr;", type, name);
        break;
      case Place::Constant:
      case Place::Alias:
        break;
    }
  }
}

void RunText::write_views(Text& text) {
  for (size_t r = 0; r < loops_.returns.size(); ++r) {
    const loops::Return& ret = loops_.returns[r];
    if (ret.kind != FR_RETURN_VIEW) continue;
    std::string shape, strides;
    for (const Expr& e : ret.shape) shape += (shape.empty() ? "" : ", ") + expr(e);
    for (const Expr& e : ret.strides) strides += (strides.empty() ? "" : ", ") + expr(e);
    text.raw("{");
    text.line("  const int64_t shape[] = {{{}}}, strides[] = {{{}}};", shape.empty() ? "0" : shape,
              strides.empty() ? "0" : strides);
    text.line("  const int32_t status = call->host->view_return(call->ctx, {}, {}, {}, {}, shape, strides);", r,
              ret.argument, expr(ret.byte_offset), ret.shape.size());
    text.line("  if (status != FR_OK) return status;");
    text.raw("}");
  }
}

std::string RunText::write() {
  write_constants();
  functions_.blank();
  Text body;
  body.indent();
  write_block(loops_.body, body);
  write_views(body);
  body.line("return FR_OK;");
  Text head;
  head.indent();
  write_prologue(head);
  functions_.line("static int32_t {}(void* /*state*/, const FrCall* call) {{", entry_);
  functions_.append(head.take());
  functions_.append(body.take());
  functions_.line("}}");
  return functions_.take();
}

}  // namespace ferrule
