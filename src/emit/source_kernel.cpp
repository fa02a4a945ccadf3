#include "emit/source_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit/descriptor.h"
#include "emit/literal.h"
#include "emit/names.h"
#include "emit/text.h"
#include "signature/kinds.h"
#include "signature/sizes.h"

namespace ferrule {
namespace {

// Keeps the frame's names apart from the author's, whose functions are called by qualified names: those of the frame
// and of fr_author would be found first.
constexpr const char* kScope = "fr_frame";

// Whether the type has several spellings among authors (std::complex, float _Complex, _Float16, uint16_t).
bool is_author_typed(DType dtype) { return is_complex(dtype) || is_half(dtype) || is_float8(dtype); }

// A pointer to elements of the type.
std::string pointer_to(DType dtype, const Record& record, const std::string& address) {
  if (dtype == DType::Record) return fmt::format("fr_author::Elements<{}>{{{}}}", record.bytes, address);
  if (is_author_typed(dtype) || dtype == DType::Object) return fmt::format("fr_author::Pointer{{{}}}", address);
  return fmt::format("static_cast<{}*>({})", cpp_name(dtype), address);
}

std::string value_at(DType dtype, const std::string& address) {
  if (is_author_typed(dtype)) return fmt::format("fr_author::Value<{}>{{{}}}", item_size(dtype), address);
  return fmt::format("fr_author::number(*static_cast<{}*>({}))", cpp_name(dtype), address);
}

std::string callback_scalar(DType dtype) {
  if (dtype == DType::Object) return "void*";
  return is_author_typed(dtype) ? fmt::format("fr_author::Any<{}>", item_size(dtype)) : std::string(cpp_name(dtype));
}

// "double(int64_t, const double*, void*)": how the author's function calls it.
std::string callback_type(const InterfaceArgument& a) {
  std::vector<std::string> parameters;
  for (const InterfaceArgument& p : a.parameters) {
    if (p.kind != FR_ARG_ARRAY)
      parameters.push_back(callback_scalar(p.dtype));
    else
      parameters.push_back(
          fmt::format("{}{}*", p.written ? "" : "const ", is_author_typed(p.dtype) ? "void" : cpp_name(p.dtype)));
  }
  return fmt::format("{}({})", a.result ? callback_scalar(*a.result) : "void", fmt::join(parameters, ", "));
}

std::string argument_text(const InterfaceArgument& a, size_t place) {
  const std::string address = fmt::format("call->args[{}]", place);
  switch (a.kind) {
    case FR_ARG_ARRAY:
      return pointer_to(a.dtype, a.record, address);
    case FR_ARG_RECORD:
      return fmt::format("fr_author::Value<{}>{{{}}}", a.record.bytes, address);
    case FR_ARG_STRING:
      return fmt::format("fr_author::text({})", address);
    case FR_ARG_OBJECT:
      return fmt::format("fr_author::Pointer{{{}}}", address);
    case FR_ARG_CALLBACK:
      return fmt::format("fr_author::Callback<{}>(call, {}, &fr_failed)", callback_type(a), place);
    case FR_ARG_POINTERS:
      return fmt::format("fr_author::pointers({})", address);
    default:
      // A scalar that may be None comes as a pointer, which may be NULL.
      return a.optional ? pointer_to(a.dtype, a.record, address) : value_at(a.dtype, address);
  }
}

// "call->symbols[2]" for each symbol of the interface.
SymbolNames symbol_texts(const Interface& described) {
  return [&described](SymbolId id) {
    size_t place = 0;
    while (described.sources[place].source.symbol != id) ++place;
    return fmt::format("call->symbols[{}]", place);
  };
}

std::string parameter(const Signature& signature, const Sizes& sizes, const Interface& described,
                      const std::string& name) {
  for (size_t i = 0; i < described.arguments.size(); ++i) {
    const InterfaceArgument& a = described.arguments[i];
    if (a.name == name && signature.argument(name) != nullptr) return argument_text(a, i);
    if (const SignatureArgument* measured = length_parameter(signature, name); measured && measured->name == a.name)
      return fmt::format("fr_author::{}_length(call->args[{}])", a.kind == FR_ARG_STRING ? "text" : "pointers", i);
  }
  for (size_t r = 0; r < signature.returns.size(); ++r) {
    const SignatureReturn& ret = signature.returns[r];
    if (ret.name != name) continue;
    // A scalar return that is a parameter is written through a pointer.
    return pointer_to(ret.dtype, ret.record, fmt::format("call->args[{}]", described.arguments.size() + r));
  }
  if (name == "state" && !signature.init.name.empty()) return "fr_author::Pointer{state}";
  if (const SignatureWorkspace* w = signature.workspace(name))
    return fmt::format("fr_author::Pointer{{call->workspaces[{}]}}", w - signature.workspaces.data());
  const SymbolNames texts = symbol_texts(described);
  if (const auto stride = stride_parameter(signature, name))
    return fmt::format("int64_t({})", to_cpp(sizes.stride_of(signature, stride->first, stride->second), texts));
  const SignatureSymbol* symbol = signature.symbol(name);
  const auto id = static_cast<SymbolId>(symbol - signature.symbols.data());
  return fmt::format("fr_author::number(static_cast<{}>({}))", cpp_name(symbol->dtype), texts(id));
}

void write_run(Text& out, const Signature& signature, const Interface& described) {
  const Sizes sizes = sizes_of(signature);
  std::vector<std::string> parameters;
  for (const std::string& name : signature.run.parameters)
    parameters.push_back(parameter(signature, sizes, described, name));
  const std::string call = fmt::format("::{}({})", signature.run.name, fmt::join(parameters, ", "));
  const bool calls_back = std::any_of(described.arguments.begin(), described.arguments.end(),
                                      [](const InterfaceArgument& a) { return a.kind == FR_ARG_CALLBACK; });
  out.open("static int32_t run([[maybe_unused]] void* state, [[maybe_unused]] const FrCall* call)");
  if (calls_back) out.line("int32_t fr_failed = FR_OK;");  // of any thread's callback
  const bool gives_status = signature.run.result == "status";
  if (gives_status) {
    out.line("const int32_t fr_status = fr_author::status({});", call);
  } else if (signature.run.result == "none") {
    out.line("{};", call);
  } else {
    size_t r = 0;
    while (signature.returns[r].name != signature.run.result) ++r;
    const SignatureReturn& returned = signature.returns[r];
    const size_t place = described.arguments.size() + r;
    if (returned.dtype == DType::Record || is_author_typed(returned.dtype))
      out.line("fr_author::store<{}>(call->args[{}], {});",
               returned.dtype == DType::Record ? returned.record.bytes : item_size(returned.dtype), place, call);
    else
      out.line("*static_cast<{}*>(call->args[{}]) = {};", cpp_name(returned.dtype), place,
               returned.dtype == DType::Object ? call : fmt::format("fr_author::number({})", call));
  }
  if (calls_back) out.line("if (fr_failed != FR_OK) return fr_failed;");
  out.line("return {};", gives_status ? "fr_status" : "FR_OK");
  out.close();
}

void write_init(Text& out, const Signature& signature) {
  std::vector<std::string> parameters;
  for (const std::string& name : signature.init.parameters) {
    const auto found = std::find(signature.persistent.begin(), signature.persistent.end(), name);
    if (found == signature.persistent.end()) {
      parameters.emplace_back("fr_author::Pointer{state}");
      continue;
    }
    parameters.push_back(fmt::format("fr_author::number(static_cast<{}>(persistent[{}]))",
                                     cpp_name(signature.symbol(name)->dtype), found - signature.persistent.begin()));
  }
  const std::string call = fmt::format("::{}({})", signature.init.name, fmt::join(parameters, ", "));
  out.open(
      "static int32_t init([[maybe_unused]] void** state, const FrHost*, [[maybe_unused]] const int64_t* persistent)");
  if (signature.init.result == "state") {
    out.line("*state = {};", call);
    out.line("return *state != nullptr ? FR_OK : FR_STATUS_NO_STATE;");
  } else if (signature.init.result == "status") {
    out.line("return fr_author::status({});", call);
  } else {
    out.line("{};", call);
    out.line("return FR_OK;");
  }
  out.close();
}

void write_exit(Text& out, const Signature& signature) {
  const std::string call = fmt::format("::{}({})", signature.exit.name,
                                       signature.exit.parameters.empty() ? "" : "fr_author::Pointer{state}");
  out.open("static int32_t leave([[maybe_unused]] void* state)");
  if (signature.exit.name.empty()) {
    out.line("return FR_OK;");
  } else if (signature.exit.result == "status") {
    out.line("return fr_author::status({});", call);
  } else {
    out.line("{};", call);
    out.line("return FR_OK;");
  }
  out.close();
}

// The program's own record of errors. After `init` and `exit` there is no state to ask.
void write_take_error(Text& out, const Signature& signature) {
  std::vector<std::string> parameters;
  for (const std::string& name : signature.error.parameters)
    parameters.emplace_back(name == "state" ? "fr_author::Pointer{state}" : "fr_author::own_status(status)");
  const bool uses_state = std::find(signature.error.parameters.begin(), signature.error.parameters.end(), "state") !=
                          signature.error.parameters.end();
  const std::string call = fmt::format("::{}({})", signature.error.name, fmt::join(parameters, ", "));
  out.open(
      "static int32_t take_error([[maybe_unused]] void* state, int32_t status, [[maybe_unused]] const char** text)");
  if (uses_state) out.line("if (state == nullptr) return status;");
  if (signature.error.result == "text") {
    out.line("*text = {};", call);
    out.line("return status == FR_OK && *text != nullptr ? FR_STATUS_USER : status;");
  } else {
    out.line("const int32_t recorded = fr_author::status({});", call);
    out.line("return status != FR_OK ? status : recorded;");
  }
  out.close();
  out.blank();
}

// A handle with state has both ends, even where the author has one.
void write_ends(Text& out, const Signature& signature) {
  if (signature.init.name.empty()) {
    out.line("static int32_t init(void**, const FrHost*, const int64_t*) {{ return FR_OK; }}");
  } else {
    write_init(out, signature);
  }
  out.blank();
  write_exit(out, signature);
  out.blank();
}

}  // namespace

std::string emit_source_kernel(const Signature& signature, const std::string& source, const std::string& digest) {
  const Interface described = interface_of(signature);
  Text out;
  out.line("#line 1 {}", quoted(signature.name + ".cpp"));
  out.append(source);
  if (!source.empty() && source.back() != '\n') out.append("\n");
  out.line("#pragma pack()");  // what the author left on would change the descriptor
  out.line("#line 1 {}", quoted("frame of " + signature.name));
  for (const char* header : {"abi.h", "rt/author.h", "rt/facts.h", "rt/import.h", "rt/index.h"})
    out.line("#include \"ferrule/{}\"", header);
  out.blank();
  out.line("namespace {} {{", kScope);
  if (!described.stateless) write_ends(out, signature);
  if (!signature.error.name.empty()) write_take_error(out, signature);
  write_run(out, signature, described);
  out.blank();
  EntryPoints entries{.run = "run"};
  if (!described.stateless) entries.init = "init", entries.exit = "leave";
  if (!signature.error.name.empty()) entries.take_error = "take_error";
  out.append(descriptor_text(described, digest, {}, kScope, FR_MODULE_SYMBOL, entries));
  out.line("FR_IMPORTABLE({})", identifier(signature.name));
  return out.take();
}

}  // namespace ferrule
