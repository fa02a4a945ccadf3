#include "emit/source_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "emit/descriptor.h"
#include "emit/literal.h"
#include "emit/names.h"
#include "emit/text.h"

namespace ferrule {
namespace {

// Whether the type has several spellings among authors (std::complex, float _Complex, _Float16, uint16_t).
bool is_author_typed(DType dtype) { return is_complex(dtype) || dtype == DType::F16 || dtype == DType::BF16; }

std::string at_address(DType dtype, bool array, size_t place) {
  const std::string address = fmt::format("call->args[{}]", place);
  if (is_author_typed(dtype))
    return array ? fmt::format("fr_author::Pointer{{{}}}", address)
                 : fmt::format("fr_author::Value<{}>{{{}}}", item_size(dtype), address);
  return fmt::format("{}static_cast<{}*>({})", array ? "" : "*", cpp_name(dtype), address);
}

std::string parameter(const Signature& signature, const Interface& described, const std::string& name) {
  for (size_t i = 0; i < described.arguments.size(); ++i) {
    const InterfaceArgument& a = described.arguments[i];
    if (a.name == name && signature.argument(name) != nullptr)
      return at_address(a.dtype, a.kind == ArgumentKind::Array, i);
  }
  for (size_t r = 0; r < signature.returns.size(); ++r) {
    const SignatureReturn& ret = signature.returns[r];
    if (ret.name != name) continue;
    // A scalar return that is a parameter is written through a pointer.
    return at_address(ret.dtype, true, described.arguments.size() + r);
  }
  const auto symbol_place = [&](const std::string& wanted) {
    size_t place = 0;
    while (described.symbols[described.sources[place].source.symbol].name != wanted) ++place;
    return place;
  };
  const DType dtype = signature.symbol(name)->dtype;
  return fmt::format("static_cast<{}>(call->symbols[{}])", cpp_name(dtype), symbol_place(name));
}

void write_run(Text& out, const Signature& signature, const Interface& described) {
  std::vector<std::string> parameters;
  for (const std::string& name : signature.run.parameters) parameters.push_back(parameter(signature, described, name));
  const std::string call = fmt::format("{}({})", signature.run.name, fmt::join(parameters, ", "));
  out.open("static int32_t run(void* /*state*/, const FrCall* call)");
  if (signature.run.result == "none") {
    out.line("{};", call);
  } else if (signature.run.result == "status") {
    out.line("const int64_t status = {};", call);
    out.open("if (status != 0)");
    out.line("const int64_t values[4] = {{status, 0, 0, 0}};");
    out.line("call->host->set_error(call->ctx, FR_ERR_STATUS, -1, values);");
    out.line("return FR_STATUS_ERROR;");
    out.close();
  } else {
    size_t r = 0;
    while (signature.returns[r].name != signature.run.result) ++r;
    const DType dtype = signature.returns[r].dtype;
    const size_t place = described.arguments.size() + r;
    if (is_author_typed(dtype))
      out.line("fr_author::store<{}>(call->args[{}], {});", item_size(dtype), place, call);
    else
      out.line("*static_cast<{}*>(call->args[{}]) = {};", cpp_name(dtype), place, call);
  }
  out.line("return FR_OK;");
  out.close();
}

}  // namespace

std::string emit_source_kernel(const Signature& signature, const std::string& source, const std::string& digest) {
  const Interface described = interface_of(signature);
  Text out;
  out.line("#line 1 {}", quoted(signature.name + ".cpp"));
  out.append(source);
  if (!source.empty() && source.back() != '\n') out.append("\n");
  out.line("#line 1 {}", quoted("frame of " + signature.name));
  for (const char* header : {"abi.h", "rt/author.h", "rt/facts.h", "rt/import.h"})
    out.line("#include \"ferrule/{}\"", header);
  out.blank();
  out.line("namespace {{");
  write_run(out, signature, described);
  out.blank();
  out.append(descriptor_text(described, digest, {}, "", FR_MODULE_SYMBOL, {.run = "run"}));
  out.line("FR_IMPORTABLE({})", identifier(signature.name));
  return out.take();
}

}  // namespace ferrule
