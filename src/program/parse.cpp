// The reading half of the text form: one pass, every error with its line and column. Declarations stand here.
#include <fmt/format.h>

#include "base/error.h"
#include "program/operation_reader.h"
#include "program/program_text.h"
#include "program/text_names.h"
#include "program/verify.h"

namespace ferrule {
namespace {

class Parser : public text::OperationReader {
 public:
  using OperationReader::OperationReader;

  Program run() {
    expect_word("fr");
    if (integer<int>() != 1) fail(at_, "only version 1 of the text form is known");
    expect_word("program");
    program_.name = name("the program's name");
    program_.bounds_check = false;
    while (!at_end()) item();
    if (!has_body_) fail(at_, "the program has no body");
    for (const MayBe& entry : may_be_) {
      const auto found = buffers_.find(entry.name);
      if (found == buffers_.end()) fail(entry.at, fmt::format("unknown buffer '{}'", entry.name));
      program_.buffers[entry.carried].may_be.push_back(found->second);
    }
    return std::move(program_);
  }

 private:
  void item() {
    const size_t start = at_;
    const std::string_view what = word("a declaration");
    if (has_body_ && what != "result") fail(start, "only results may follow the body");
    if (what == "option") return option();
    if (what == "symbol") return symbol();
    if (what == "source") return source();
    if (what == "buffer") return buffer();
    if (what == "array") return array_argument();
    if (what == "scalar") return scalar_argument();
    if (what == "static") return static_argument();
    if (what == "guard") return guard();
    if (what == "body") {
      expect("{");
      operations(program_.body);
      expect("}");
      has_body_ = true;
      return;
    }
    if (what == "result") return result();
    fail(start, fmt::format("unknown declaration '{}'", what));
  }

  void option() {
    const size_t start = at_;
    const std::string_view what = word("an option");
    if (what == "bounds_check")
      program_.bounds_check = true;
    else if (what == "arguments_may_alias")
      program_.arguments_may_alias = true;
    else if (what == "returns_tuple")
      program_.returns_tuple = true;
    else
      fail(start, fmt::format("unknown option '{}'", what));
  }

  void symbol() {
    const size_t start = at_;
    const std::string text(symbol_name());
    const std::string full = next_is('"') ? string() : text;
    expect(":");
    const auto kind = symbol_kind_from_word(word("the kind of a symbol"));
    if (!kind) fail(start, "unknown kind of symbol");
    const bool nonnegative = accept_word("nonnegative");
    if (symbols_.contains(text) || program_.symbols.find(full))
      fail(start, fmt::format("the symbol '{}' is defined twice", full));
    symbols_[text] = program_.symbols.add(full, *kind, nonnegative);
  }

  void source() {
    SymbolSource source;
    source.symbol = symbol_reference();
    expect("=");
    const size_t start = at_;
    const auto kind = symbol_source_from_word(word("the source of a symbol"));
    if (!kind) fail(start, "unknown source of a symbol");
    source.source = *kind;
    source.argument = integer<int>();
    source.axis = integer<int>();
    expect("*");
    source.coefficient = integer<int64_t>();
    expect("+");
    source.offset = integer<int64_t>();
    program_.sources.push_back(source);
  }

  void buffer() {
    skip();
    const size_t start = at_;
    Buffer b;
    b.name = name("the buffer's name");
    expect(":");
    b.dtype = dtype();
    b.shape = expressions();
    const std::string_view storage = word("the storage of a buffer");
    if (storage == "argument") {
      b.storage = Storage::Argument;
      b.argument = integer<int>();
    } else if (storage == "constant") {
      b.storage = Storage::Constant;
    } else if (storage == "transient") {
      b.storage = Storage::Transient;
    } else if (storage == "carried") {
      b.storage = Storage::Carried;
    } else if (storage == "alias") {
      b.storage = Storage::Alias;
      b.base = buffer_reference();
      b.offset = single_expression();
    } else {
      fail(start, fmt::format("unknown storage '{}'", storage));
    }
    if (accept_word("strides")) b.strides = expressions();
    if (b.storage == Storage::Carried) {
      expect_word("may_be");
      expect("(");
      while (!next_is(')')) {
        skip();
        const size_t name_at = at_;
        may_be_.push_back({static_cast<BufferId>(program_.buffers.size()), name("a buffer"), name_at});
        if (!accept(",")) break;
      }
      expect(")");
    }
    if (b.storage == Storage::Constant) {
      expect_word("bytes");
      skip();
      const size_t at = at_ + 1;
      const std::string digits = string();
      for (size_t i = 0; i < digits.size(); i += 2)
        b.bytes.push_back(hex_byte(std::string_view(digits).substr(i, 2), at + i));
    }
    if (!buffers_.emplace(b.name, static_cast<BufferId>(program_.buffers.size())).second)
      fail(start, fmt::format("the buffer '{}' is defined twice", b.name));
    program_.buffers.push_back(std::move(b));
  }

  void array_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Array;
    const size_t start = at_;
    a.value = typed_definition();
    const ValueType& t = program_.values[a.value];
    if (t.kind != ValueKind::View) fail(start, "an array argument is a view");
    a.dtype = t.dtype;
    a.buffer = t.buffer;
    expect_word("layout");
    const size_t layout_at = at_;
    const auto layout = layout_from_word(word("a layout"));
    if (!layout) fail(layout_at, "unknown layout");
    a.layout = *layout;
    if (a.layout == Layout::Inner) a.inner_axis = integer<int>();
    a.read = accept_word("read");
    a.written = accept_word("written");
    a.hidden = accept_word("hidden");
    finish_argument(std::move(a));
  }

  void scalar_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Scalar;
    const size_t start = at_;
    a.value = typed_definition();
    const ValueType& t = program_.values[a.value];
    if (t.kind != ValueKind::Scalar) fail(start, "a scalar argument is a scalar");
    a.dtype = t.dtype;
    a.weak = t.weak;
    if (accept_word("symbol")) a.symbol = symbol_reference();
    finish_argument(std::move(a));
  }

  void static_argument() {
    Argument a;
    a.name = name("the argument's name");
    a.kind = ArgumentKind::Static;
    a.static_text = string();
    finish_argument(std::move(a));
  }

  void finish_argument(Argument a) {
    a.keyword_only = accept_word("keyword_only");
    if (accept_word("default")) a.default_text = string();
    program_.arguments.push_back(std::move(a));
  }

  void guard() {
    Guard guard;
    guard.condition = condition();
    guard.text = string();
    guard.compares_sources = accept_word("compares_sources");
    program_.guards.push_back(std::move(guard));
  }

  void result() {
    if (accept_word("argument")) return program_.results.push_back({ResultKind::Argument, kNone, integer<int>()});
    if (accept_word("none")) return program_.results.push_back({ResultKind::None});
    program_.results.push_back({ResultKind::Value, reference()});
  }

  // A carried buffer may stand for one that comes later in the text.
  struct MayBe {
    BufferId carried;
    std::string name;
    size_t at;
  };
  std::vector<MayBe> may_be_;
  bool has_body_ = false;
};

}  // namespace

Program parse_program(std::string_view text) {
  Program program = Parser(text).run();
  try {
    verify(program);
  } catch (const Error& error) {
    throw user_error(fmt::format("The program text is not a legal program. {}", error.what()));
  }
  return program;
}

}  // namespace ferrule
