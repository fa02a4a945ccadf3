#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"
#include "signature/kinds.h"
#include "signature/signature.h"
#include "signature/sizes.h"

namespace ferrule {
namespace {

[[noreturn]] void refuse(const Signature& s, const std::string& text) {
  throw user_error(fmt::format("The signature of '{}': {}", s.name, text), Builtin::Value);
}

bool is_identifier(const std::string& name) {
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c >= 0x80; };
  return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) { return letter(c) || std::isdigit(c) != 0; });
}

// Names of arguments, returns and symbols are one space: `run` refers to all of them. A symbol may have the name of an
// integer argument, whose value it then is.
void check_names(const Signature& s) {
  if (!is_identifier(s.name))
    throw user_error(fmt::format("The signature's name '{}' is no identifier; use letters, digits and '_'.", s.name),
                     Builtin::Value);
  std::map<std::string, const char*> taken;
  const auto take = [&](const std::string& name, const char* what) {
    if (!is_identifier(name))
      refuse(s, fmt::format("{} '{}' is no identifier; use letters, digits and '_'.", what, name));
    const auto [at, added] = taken.insert({name, what});
    if (!added)
      refuse(s, fmt::format("'{}' is the name of an {} and of another {}; rename one.", name, at->second, what));
  };
  for (const SignatureArgument& a : s.arguments) take(a.name, "argument");
  for (const SignatureReturn& r : s.returns) take(r.name, "return");
  for (const SignatureWorkspace& w : s.workspaces) take(w.name, "workspace");
  for (const SignatureSymbol& symbol : s.symbols) {
    if (!is_integer(symbol.dtype))
      refuse(s, fmt::format("the symbol '{}' has dtype {}; symbols are integers.", symbol.name, name_of(symbol.dtype)));
    const SignatureArgument* a = s.argument(symbol.name);
    if (a == nullptr) {
      take(symbol.name, "symbol");
    } else if (a->kind != SignatureKind::Scalar || !is_integer(a->dtype) || a->optional) {
      refuse(s, fmt::format("'{}' is the name of a symbol and of an argument that is no plain integer; rename one.",
                            symbol.name));
    }
  }
}

void check_positions(const Signature& s) {
  if (!s.arg_names) return;
  std::set<std::string> seen;
  for (const std::string& name : *s.arg_names) {
    if (s.argument(name) == nullptr && s.symbol(name) == nullptr)
      refuse(s, fmt::format("arg_names has '{}', which is neither an argument nor a symbol.", name));
    if (!seen.insert(name).second) refuse(s, fmt::format("arg_names has '{}' twice.", name));
  }
}

void names_in(const Signature& s, const UserSlots& slots, std::set<std::string>& seen) {
  for (const UserSlot& slot : slots) {
    if (slot.is_tuple) {
      names_in(s, slot.slots, seen);
      continue;
    }
    const std::string& name = slot.name;
    if (name.empty()) continue;
    if (s.returned(name) != nullptr)
      refuse(s, fmt::format("user_args has the return '{}'; returns are not given.", name));
    const bool positional =
        s.arg_names && std::find(s.arg_names->begin(), s.arg_names->end(), name) != s.arg_names->end();
    if (s.argument(name) == nullptr && s.symbol(name) != nullptr && !positional)
      refuse(s, fmt::format("user_args has the symbol '{}', which is no argument; put it into arg_names too.", name));
    if (s.argument(name) == nullptr && s.symbol(name) == nullptr)
      refuse(s, fmt::format("user_args has '{}', which is neither an argument nor a symbol; '' is an ignored slot.",
                            name));
    if (!seen.insert(name).second) refuse(s, fmt::format("user_args has '{}' twice.", name));
  }
}

void check_user_args(const Signature& s, const Sizes& sizes) {
  if (!s.user_args) return;
  std::set<std::string> seen;
  names_in(s, *s.user_args, seen);
  for (const SignatureArgument& a : s.arguments)
    if (!seen.contains(a.name) && a.default_text.empty())
      refuse(s, fmt::format("the argument '{}' is missing from user_args.", a.name));
  for (const SizeSource& source : sizes.sources) {
    const bool given = source.kind == SizeSource::Kind::Position || source.kind == SizeSource::Kind::Keyword;
    const std::string& name = s.symbols[source.symbol].name;
    if (given && !seen.contains(name))
      refuse(s, fmt::format("the symbol '{}', which nothing else tells, is missing from user_args.", name));
  }
}

void check_function_name(const Signature& s, const std::string& name) {
  if (!is_identifier(name) && name.find("::") == std::string::npos)
    refuse(s, fmt::format("'{}' is no name of a C function.", name));
}

void check_run(const Signature& s) {
  check_function_name(s, s.run.name);
  std::set<std::string> seen;
  for (const std::string& parameter : s.run.parameters) {
    const bool known = s.argument(parameter) != nullptr || s.returned(parameter) != nullptr ||
                       s.symbol(parameter) != nullptr || stride_parameter(s, parameter).has_value() ||
                       length_parameter(s, parameter) != nullptr || (parameter == "state" && !s.init.name.empty()) ||
                       s.workspace(parameter) != nullptr;
    if (!known)
      refuse(s, fmt::format("'{}' takes '{}', which is no argument, return, symbol or stride such as 'x.strides[0]'.",
                            s.run.name, parameter));
    seen.insert(parameter);
  }
  for (const SignatureReturn& r : s.returns)
    if (!seen.contains(r.name) && s.run.result != r.name)
      refuse(s, fmt::format("the return '{}' is neither a parameter of '{}' nor its result.", r.name, s.run.name));
  if (s.run.result == "none" || s.run.result == "status") return;
  const SignatureReturn* r = s.returned(s.run.result);
  if (r == nullptr)
    refuse(s, fmt::format("the result of '{}' is '{}'; it can be 'none', 'status' or the name of a return.", s.run.name,
                          s.run.result));
  if (r->kind == SignatureKind::Array)
    refuse(s, fmt::format("the result of '{}' is the array '{}'; arrays are parameters.", s.run.name, r->name));
  if (seen.contains(r->name))
    refuse(s, fmt::format("the return '{}' is a parameter of '{}' and its result.", r->name, s.run.name));
}

// `init`, `exit`, what they share with `run`, and the memory that callers give.
void check_state(const Signature& s) {
  for (const auto& [function, what] : {std::pair{&s.init, "init"}, std::pair{&s.exit, "exit"}}) {
    if (function->name.empty()) {
      if (!function->parameters.empty()) refuse(s, fmt::format("'{}' has parameters but no name.", what));
      continue;
    }
    check_function_name(s, function->name);
    const bool gives_state = function == &s.init && function->result == "state";
    if (function->result != "none" && function->result != "status" && !gives_state)
      refuse(s, fmt::format("the result of '{}' is '{}'; it can be 'none' or 'status'{}.", function->name,
                            function->result, function == &s.init ? " or 'state'" : ""));
    for (const std::string& parameter : function->parameters) {
      const bool persistent = std::find(s.persistent.begin(), s.persistent.end(), parameter) != s.persistent.end();
      const bool state = parameter == "state" && !gives_state;
      if (!state && !(function == &s.init && persistent))
        refuse(s, fmt::format("'{}' takes '{}', which is neither 'state' nor a persistent symbol.", function->name,
                              parameter));
    }
  }
  for (const AuthorFunction* function : {&s.run, &s.error}) {
    const auto& taken = function->parameters;
    if (std::find(taken.begin(), taken.end(), "state") != taken.end() && s.init.name.empty())
      refuse(s, fmt::format("'{}' takes 'state', but there is no init.", function->name));
  }
  if (!s.persistent.empty() && s.init.name.empty()) refuse(s, "persistent symbols are given, but there is no init.");
  for (const std::string& name : s.persistent)
    if (s.symbol(name) == nullptr) refuse(s, fmt::format("persistent has '{}', which is no symbol.", name));
  for (const SignatureWorkspace& w : s.workspaces)
    if (w.alignment <= 0 || (w.alignment & (w.alignment - 1)) != 0 || w.alignment > 4096)
      refuse(s, fmt::format("the workspace '{}' has the alignment {}; it is a power of two up to 4096.", w.name,
                            w.alignment));
  std::set<int64_t> seen;
  for (const SignatureStatus& status : s.statuses)
    if (status.status == 0 || !seen.insert(status.status).second)
      refuse(s, fmt::format("statuses has {}{}.", status.status, status.status == 0 ? ", which is success" : " twice"));
}

// The function that takes what the program has recorded.
void check_error(const Signature& s) {
  if (s.error.name.empty()) {
    if (!s.error.parameters.empty()) refuse(s, "'error' has parameters but no name.");
    return;
  }
  check_function_name(s, s.error.name);
  if (s.error.result != "text" && s.error.result != "status")
    refuse(s, fmt::format("the result of '{}' is '{}'; it can be 'text' or 'status'.", s.error.name, s.error.result));
  for (const std::string& parameter : s.error.parameters)
    if (parameter != "state" && parameter != "status")
      refuse(s, fmt::format("'{}' takes '{}', which is neither 'state' nor 'status'.", s.error.name, parameter));
}

// Every name that a size mentions, in order of appearance.
std::vector<std::string> mentioned_names(const Signature& s) {
  std::vector<std::string> names;
  const auto read = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      for (size_t i = 0; i < text.size();) {
        const auto letter = [&](size_t at) {
          const auto c = static_cast<unsigned char>(text[at]);
          return std::isalpha(c) != 0 || c == '_' || c >= 0x80;
        };
        if (!letter(i)) {
          ++i;
          continue;
        }
        size_t end = i;
        while (end < text.size() && (letter(end) || std::isdigit(static_cast<unsigned char>(text[end])) != 0)) ++end;
        const std::string name = text.substr(i, end - i);
        const bool function = end < text.size() && text[end] == '(';  // min(...), max(...)
        if (!function && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        i = end;
      }
    }
  };
  for (const SignatureArgument& a : s.arguments) {
    read(a.shape);
    read(a.strides);
    for (const SignatureArgument& p : a.parameters) read(p.shape);
  }
  for (const SignatureReturn& r : s.returns) read(r.shape);
  for (const SignatureWorkspace& w : s.workspaces) read({w.bytes});
  return names;
}

}  // namespace

const SignatureArgument* Signature::argument(const std::string& wanted) const {
  for (const SignatureArgument& a : arguments)
    if (a.name == wanted) return &a;
  return nullptr;
}

const SignatureSymbol* Signature::symbol(const std::string& wanted) const {
  for (const SignatureSymbol& s : symbols)
    if (s.name == wanted) return &s;
  return nullptr;
}

const SignatureReturn* Signature::returned(const std::string& wanted) const {
  for (const SignatureReturn& r : returns)
    if (r.name == wanted) return &r;
  return nullptr;
}

const SignatureWorkspace* Signature::workspace(const std::string& wanted) const {
  for (const SignatureWorkspace& w : workspaces)
    if (w.name == wanted) return &w;
  return nullptr;
}

Signature complete(Signature signature) {
  std::set<std::string> declared;
  for (const SignatureSymbol& symbol : signature.symbols) declared.insert(symbol.name);
  for (const std::string& name : mentioned_names(signature)) {
    if (declared.contains(name) || signature.symbol(name) != nullptr) continue;
    const SignatureArgument* a = signature.argument(name);
    if (a != nullptr)
      signature.symbols.push_back({name, a->dtype, false});
    else
      signature.symbols.push_back({name});
  }
  for (SignatureArgument& a : signature.arguments)
    if (a.order == Order::Inner && a.inner_axis == -1) a.inner_axis = static_cast<int>(a.shape.size()) - 1;
  if (signature.run.name.empty()) signature.run.name = signature.name;
  check_names(signature);
  check_kinds(signature);
  check_positions(signature);
  if (signature.run.parameters.empty()) {
    for (const SignatureArgument& a : signature.arguments) {
      signature.run.parameters.push_back(a.name);
      if (length_parameter(signature, a.name + ".length") != nullptr)
        signature.run.parameters.push_back(a.name + ".length");
    }
    for (const SignatureReturn& r : signature.returns)
      if (r.name != signature.run.result) signature.run.parameters.push_back(r.name);
    for (const SignatureSymbol& symbol : signature.symbols)
      if (signature.argument(symbol.name) == nullptr) signature.run.parameters.push_back(symbol.name);
    for (const SignatureWorkspace& w : signature.workspaces) signature.run.parameters.push_back(w.name);
    if (!signature.init.name.empty())
      signature.run.parameters.insert(signature.run.parameters.begin(), std::string("state"));
  }
  check_run(signature);
  check_error(signature);
  check_state(signature);
  const Sizes sizes = sizes_of(signature);
  for (const SizeSource& source : sizes.sources) {
    const std::string& name = signature.symbols[source.symbol].name;
    if (source.kind == SizeSource::Kind::Keyword && !declared.contains(name))
      refuse(signature,
             fmt::format("nothing tells the symbol '{}': no extent or stride can be solved for it; put it into "
                         "arg_names, or into symbols to have it given by keyword.",
                         name));
  }
  check_user_args(signature, sizes);
  return signature;
}

}  // namespace ferrule
