#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/entries.h"
#include "call/plan.h"

namespace ferrule {
namespace {

std::string extents_text(const FrExpr* extents, int rank, const FrModule& module) {
  std::vector<std::string> texts;
  for (int axis = 0; axis < rank; ++axis) texts.push_back(text_of(extents[axis], module));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string type_text(const FrArg& arg, const FrModule& module) {
  const DType dtype = static_cast<DType>(arg.dtype);
  switch (arg.kind) {
    case FR_ARG_STATIC:
      return "static";
    case FR_ARG_RECORD:
      return "struct";
    case FR_ARG_STRING:
      return "str | bytes";
    case FR_ARG_OBJECT:
      return "object";
    case FR_ARG_CALLBACK:
      return "callable";
    case FR_ARG_POINTERS:
      return fmt::format("{}*[]", name_of(dtype));
    default:
      break;
  }
  if (arg.kind == FR_ARG_ARRAY) return std::string(name_of(dtype)) + extents_text(arg.extents, arg.rank, module);
  if ((arg.flags & FR_ARG_WEAK) == 0) return std::string(name_of(dtype));
  return dtype == DType::Bool ? "bool" : is_integer(dtype) ? "int" : is_float(dtype) ? "float" : "complex";
}

std::string return_text(const FrReturn& r, const FrModule& module) {
  switch (r.kind) {
    case FR_RETURN_ARRAY:
      return std::string(name_of(static_cast<DType>(r.dtype))) + extents_text(r.extents, r.rank, module);
    case FR_RETURN_ARGUMENT:
      return entry_at(module.args, static_cast<uint32_t>(r.arg)).name;
    case FR_RETURN_NONE:
      return "None";
    case FR_RETURN_SCALAR:
      return std::string(name_of(static_cast<DType>(r.dtype)));
    default: {
      std::vector<std::string_view> axes(r.rank, ":");
      return fmt::format("{}[{}]", name_of(static_cast<DType>(r.dtype)), fmt::join(axes, ", "));
    }
  }
}

}  // namespace

std::string signature_text(const FrModule& module) {
  std::vector<std::string> parameters;
  bool star = false;
  for (uint32_t i = 0; i < module.n_args; ++i) {
    const FrArg& arg = entry_at(module.args, i);
    if ((arg.flags & FR_ARG_HIDDEN) != 0) continue;
    if (!star && i >= module.n_positional) {
      parameters.emplace_back("*");
      star = true;
    }
    std::string text = fmt::format("{}: {}", arg.name, type_text(arg, module));
    if (arg.default_text != nullptr) text += fmt::format(" = {}", arg.default_text);
    parameters.push_back(std::move(text));
  }
  for (uint32_t i = 0; i < module.n_symbols; ++i) {
    const FrSymbol& symbol = entry_at(module.symbols, i);
    if (symbol.source != FR_SYMBOL_EXPLICIT) continue;
    if (!star) parameters.emplace_back("*");
    star = true;
    parameters.push_back(fmt::format("{}: int", symbol.name));
  }
  std::vector<std::string> results;
  for (uint32_t i = 0; i < module.n_returns; ++i) results.push_back(return_text(entry_at(module.returns, i), module));
  std::string text = fmt::format("{}({})", module.name, fmt::join(parameters, ", "));
  const bool tuple = (module.flags & FR_MODULE_RETURNS_TUPLE) != 0 || results.size() > 1;
  if (!results.empty()) text += fmt::format(" -> {}{}{}", tuple ? "(" : "", fmt::join(results, ", "), tuple ? ")" : "");
  return text;
}

}  // namespace ferrule
