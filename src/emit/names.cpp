#include "emit/names.h"

#include <cctype>

namespace ferrule {
namespace {

// Words that emitted text may not use for names of the program's: keywords, names of <stdint.h>, math.h builtins that
// GCC warns of, and the emitter's own.
const char* const kReserved[] = {
    "alignas",     "alignof",  "and",        "and_eq",      "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",        "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",    "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval",   "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",          "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",      "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",      "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",         "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected",   "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",      "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",    "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",      "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",    "wchar_t",   "while",        "xor",
    "xor_eq",      "int8_t",   "int16_t",    "int32_t",     "int64_t",   "uint8_t",      "uint16_t",
    "uint32_t",    "uint64_t", "fr",         "run",         "call",      "state",        "arena",
    "main",        "linux",    "unix",       "fr_floordiv", "fr_mod",    "fr_min",       "fr_max",
    "fr_ipow",     "status",   "values",     "slot",        "memory",    "NULL",         "INT32_MIN",
    "INT64_MIN",   "shape",    "strides",    "bytes",       "typeof",    "overlap",
};

// Names that the emitter numbers: registers, row pointers, axes, functions.
bool is_numbered(const std::string& name) {
  static const char* const stems[] = {"r", "p", "i", "x", "nest", "loop", "bind", "name", "args"};
  for (const std::string stem : stems) {
    if (name.size() <= stem.size() || name.compare(0, stem.size(), stem) != 0) continue;
    bool digits = true;
    for (size_t k = stem.size(); k < name.size(); ++k) digits = digits && std::isdigit(uint8_t(name[k])) != 0;
    if (digits) return true;
  }
  return false;
}

}  // namespace

std::string identifier(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (word && !(c == '_' && (result.empty() || result.back() == '_')))
      result += c;
    else if (!word && !result.empty() && result.back() != '_')
      result += '_';
  }
  while (!result.empty() && result.back() == '_') result.pop_back();
  if (result.empty()) result = "v";
  if (result[0] >= '0' && result[0] <= '9') result = "v" + result;
  // Two leading capitals of the rt headers' macros cannot clash: theirs begin with FR_.
  if (result.rfind("FR_", 0) == 0 || result.rfind("Fr", 0) == 0) result = "v_" + result;
  return result;
}

Names::Names(const loops::Loops& loops) {
  for (const char* word : kReserved) taken_.insert(word);
  for (const loops::Buffer& buffer : loops.buffers) buffers_.push_back(fresh(buffer.name));
  for (SymbolId id = 0; id < loops.symbols.size(); ++id) {
    const std::string& name = loops.symbols[id].name;
    if (name[0] == '$') {
      symbols_.push_back("i" + name.substr(1));
      taken_.insert(symbols_.back());
    } else {
      symbols_.push_back(fresh(name));
    }
  }
}

std::string Names::fresh(const std::string& text) {
  std::string base = identifier(text);
  if (is_numbered(base)) base += "_";
  std::string name = base;
  for (int suffix = 1; !taken_.insert(name).second; ++suffix) name = base + "_" + std::to_string(suffix);
  return name;
}

}  // namespace ferrule
