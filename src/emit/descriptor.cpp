#include "emit/descriptor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "emit/literal.h"
#include "emit/text.h"

namespace ferrule {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const Interface& described) : of_(described) {
    for (size_t slot = 0; slot < of_.sources.size(); ++slot)
      slots_.insert({of_.sources[slot].source.symbol, int64_t(slot)});
  }

  std::string write(const std::string& digest, const BuildFacts& given, const std::string& scope,
                    const std::string& symbol, const EntryPoints& entries) {
    const std::string args = arguments(), symbols = this->symbols(), returns = this->returns(), guards = this->guards();
    const std::string alias = this->alias(), facts = this->facts(given);
    const std::string arena = postfix(of_.arena_bytes), work = postfix(of_.work);
    size_t positional = 0;
    while (positional < of_.arguments.size() && !of_.arguments[positional].keyword_only &&
           !of_.arguments[positional].hidden) {
      ++positional;
    }
    const std::string workspaces = this->workspaces(), statuses = this->statuses();
    std::vector<int32_t> persistent;
    for (const SymbolId id : of_.persistent) persistent.push_back(static_cast<int32_t>(slot(id)));
    const std::string persistent_table = words_table("module_persistent", persistent);
    const std::string user_table = words_table("module_user_args", of_.user_args);
    std::string flags = of_.stateless ? "FR_MODULE_STATELESS" : "0";
    if (of_.alias_safe || of_.alias.empty()) flags += " | FR_MODULE_ALIAS_SAFE";
    if (of_.returns_tuple) flags += " | FR_MODULE_RETURNS_TUPLE";
    if (of_.bounds_check) flags += " | FR_MODULE_BOUNDS_CHECKED";
    if (of_.strict_scalars) flags += " | FR_MODULE_STRICT_SCALARS";
    if (of_.arena_for_alias) flags += " | FR_MODULE_ARENA_FOR_ALIAS";
    if (of_.return_override) flags += " | FR_MODULE_RETURN_OVERRIDE";
    if (of_.coerces) flags += " | FR_MODULE_COERCE";
    if (!of_.error_check) flags += " | FR_MODULE_UNCHECKED";
    if (of_.release_gil) flags += *of_.release_gil ? " | FR_MODULE_RELEASES_GIL" : " | FR_MODULE_KEEPS_GIL";

    Text out;
    out.append(words_);
    out.append(tables_);
    out.line("}}  // namespace");
    out.blank();
    const std::string in = scope.empty() ? "" : scope + "::";
    if (of_.stateless) {
      out.line(
          "// Any number of threads may run it at once: a run changes its arguments and what its FrCall points to.");
    } else {
      out.line(
          "// init comes first and exit last, alone; between them any number of threads may run on one state at once, "
          "and");
      out.line("// what they share of it is for the author's functions to guard.");
    }
    out.line("extern \"C\" {{");
    out.line("extern const FrModule {} __attribute__((visibility(\"default\")));", symbol);
    out.line("const FrModule {} = {{", symbol);
    out.line("    FR_ABI_MAGIC, sizeof(FrModule), FR_ABI_MAJOR, FR_ABI_MINOR, {},", flags);
    out.line("    {}, {},", quoted(of_.name), quoted(digest));
    out.line("    {}, {}, {}, {}, {}, {},", of_.arguments.size(), of_.sources.size(), of_.returns.size(),
             of_.guards.size(), of_.alias.size(), given.size() + 2);
    out.line("    {}, {}, {}, {}, {}, {},", at(in, args), at(in, symbols), at(in, returns), at(in, guards),
             at(in, alias), at(in, facts));
    out.line("    {}, {},", qualified(in, arena), qualified(in, work));
    const auto entry = [&](const std::string& name) { return name.empty() ? "nullptr" : in + name; };
    const bool plain = workspaces == "nullptr" && persistent.empty() && of_.user_args.empty() && of_.statuses.empty() &&
                       entries.take_error.empty();
    out.line("    {}, {}, {}, {}, {}, 0{}", entry(entries.init), entry(entries.run), entry(entries.run_alias),
             entry(entries.exit), positional, plain ? "};" : ",");
    if (!plain) {
      out.line("    {}, {}, {}, {},", of_.workspaces.size(), persistent.size(), of_.user_args.size(),
               of_.statuses.size());
      out.line("    {}, {}, {}, {}, {}}};", at(in, workspaces), at(in, persistent_table), at(in, user_table),
               at(in, statuses), entry(entries.take_error));
    }
    out.line("}}");
    return out.take();
  }

 private:
  static std::string at(const std::string& in, const std::string& table) {
    return table == "nullptr" ? table : in + table;
  }
  static std::string qualified(const std::string& in, const std::string& expr) { return "{" + in + expr.substr(1); }

  // "{x3, 5}": an FrExpr whose words are a table of their own.
  std::string words(const std::vector<int64_t>& code) {
    std::string list;
    for (int64_t word : code)
      list += (list.empty() ? "" : ", ") + (word == INT64_MIN ? "INT64_MIN" : std::to_string(word));
    const auto [it, added] = tables_by_words_.insert({list, fmt::format("x{}", tables_by_words_.size())});
    if (added) words_ += fmt::format("static const int64_t {}[] = {{{}}};\n", it->second, list);
    return fmt::format("{{{}, {}}}", it->second, code.size());
  }
  int64_t slot(SymbolId id) const {
    const auto found = slots_.find(id);
    if (found == slots_.end()) {
      throw internal_error(fmt::format("The descriptor of '{}' needs '{}', which a call does not know.", of_.name,
                                       of_.symbols[id].name));
    }
    return found->second;
  }
  std::string postfix(const Expr& expr) {
    return words(to_postfix(expr, [this](SymbolId id) { return slot(id); }));
  }
  std::string postfix_table(const std::vector<Expr>& exprs) {
    if (exprs.empty()) return "nullptr";
    std::string list;
    for (const Expr& expr : exprs) list += (list.empty() ? "" : ", ") + postfix(expr);
    const std::string name = fmt::format("e{}", expression_tables_++);
    tables_ += fmt::format("static const FrExpr {}[] = {{{}}};\n", name, list);
    return name;
  }
  std::string table(const char* type, const char* name, const std::vector<std::string>& rows) {
    if (rows.empty()) return "nullptr";
    std::string list;
    for (const std::string& row : rows) list += "    {" + row + "},\n";
    tables_ += fmt::format("static const {} {}[] = {{\n{}}};\n", type, name, list);
    return name;
  }

  std::string arguments() {
    std::vector<std::string> rows;
    for (const InterfaceArgument& a : of_.arguments) rows.push_back(argument(a));
    return table("FrArg", "module_args", rows);
  }

  // The values of an FrArg.
  std::string argument(const InterfaceArgument& a) {
    std::string flags;
    if (a.optional) flags += " | FR_ARG_OPTIONAL";
    if (a.weak) flags += " | FR_ARG_WEAK";
    if (a.keyword_only) flags += " | FR_ARG_KEYWORD_ONLY";
    if (a.hidden) flags += " | FR_ARG_HIDDEN";
    const char* kinds[] = {"FR_ARG_ARRAY",  "FR_ARG_SCALAR", "FR_ARG_STATIC",   "FR_ARG_RECORD",
                           "FR_ARG_STRING", "FR_ARG_OBJECT", "FR_ARG_CALLBACK", "FR_ARG_POINTERS"};
    const int intent = (a.read ? FR_IN : 0) | (a.written ? FR_OUT : 0);
    const std::string extent_table = postfix_table(a.extents), stride_table = postfix_table(a.strides);
    std::string more;
    if (a.dtype == DType::Record) more = ", " + record(a.name, a.record);
    if (a.kind == FR_ARG_CALLBACK) more = ", nullptr, " + callback(a);
    return fmt::format("sizeof(FrArg), {}, {}, {}, {}, {}, {}, {}, 0, {}, 0, {}, {}, {}, 0, {}{}",
                       flags.empty() ? "0" : flags.substr(3), quoted(a.name), kinds[a.kind], int(a.dtype),
                       a.extents.size(), intent, int(a.layout), a.inner_axis, extent_table, stride_table,
                       a.symbol == kNone ? -1 : int64_t(slot(a.symbol)),
                       a.literal.empty() ? "nullptr" : quoted(a.literal), more);
  }

  // "&record0": the struct that elements of this argument or result are.
  std::string record(const std::string& owner, const Record& of) {
    const std::string name = fmt::format("record{}", records_++);
    std::vector<std::string> rows;
    for (const RecordField& f : of.fields)
      rows.push_back(
          fmt::format("sizeof(FrField), {}, {}, {}, {{0, 0, 0}}, {}", f.offset, quoted(f.name), int(f.dtype), f.count));
    const std::string fields = table("FrField", (name + "_fields").c_str(), rows);
    tables_ += fmt::format("static const FrRecord {} = {{sizeof(FrRecord), {}, {}, {}, {}, {}, {}}};\n", name, of.bytes,
                           quoted(owner), rows.size(), alignment_of(of), fields, quoted(of.literal));
    return "&" + name;
  }

  // "&callback0": what the callable takes and gives.
  std::string callback(const InterfaceArgument& a) {
    const std::string name = fmt::format("callback{}", callbacks_++);
    std::vector<std::string> rows;
    for (const InterfaceArgument& p : a.parameters) rows.push_back(argument(p));
    const std::string parameters = table("FrArg", (name + "_params").c_str(), rows);
    tables_ += fmt::format("static const FrCallback {} = {{sizeof(FrCallback), {}, {}, {}, {}, 0}};\n", name,
                           rows.size(), parameters, a.result ? 1 : 0, a.result ? int(*a.result) : 0);
    return "&" + name;
  }

  std::string symbols() {
    std::vector<std::string> rows;
    for (const auto& [source, derived] : of_.sources) {
      std::string solve = "{nullptr, 0}";
      if (source.source == FR_SYMBOL_DERIVED) {
        solve = postfix(derived);
      } else if (source.coefficient != 1 || source.offset != 0) {
        const Expr value = floordiv(Expr::symbol(0) - Expr(source.offset), Expr(source.coefficient));
        solve = words(to_postfix(value, [](SymbolId) { return int64_t(0); }));
      }
      const Symbol& symbol = of_.symbols[source.symbol];
      rows.push_back(fmt::format("sizeof(FrSymbol), {}, {}, {}, {}, 0, {}, {}", symbol.nonnegative ? 0 : 1,
                                 quoted(symbol.name), int(source.source), source.axis, source.argument, solve));
    }
    return table("FrSymbol", "module_symbols", rows);
  }

  std::string returns() {
    std::vector<std::string> rows;
    for (size_t r = 0; r < of_.returns.size(); ++r) {
      const loops::Return& ret = of_.returns[r];
      const std::string name = quoted(of_.return_names.empty() ? "" : of_.return_names[r]);
      const std::string extents = ret.kind == FR_RETURN_ARRAY ? postfix_table(ret.shape) : "nullptr";
      const std::string more =
          ret.dtype == DType::Record ? ", " + record(of_.return_names[r], of_.return_records[r]) : "";
      rows.push_back(fmt::format("sizeof(FrReturn), {}, {}, {}, {}, {}, 0, {}, {}{}", ret.weak ? "FR_RETURN_WEAK" : "0",
                                 name, int(ret.kind), int(ret.dtype), ret.shape.size(), ret.argument, extents, more));
    }
    return table("FrReturn", "module_returns", rows);
  }

  std::string guards() {
    std::vector<std::string> rows;
    for (const Guard& guard : of_.guards) {
      const std::string code = words(to_postfix(guard.condition, [this](SymbolId id) { return slot(id); }));
      rows.push_back(fmt::format("{}, {}, {}, 0", code, quoted(guard.text), guard.compares_sources ? 1 : 0));
    }
    return table("FrGuard", "module_guards", rows);
  }

  std::string alias() {
    std::vector<std::string> rows;
    for (const loops::AliasPair& pair : of_.alias) {
      rows.push_back(fmt::format("{}, {}, {}", pair.written, pair.other, pair.allowed));
    }
    return table("FrAliasPair", "module_alias", rows);
  }

  std::string facts(const BuildFacts& given) {
    // What the compiler may use is known when it runs: rt/facts.h takes it from its macros.
    std::vector<std::string> rows = {"\"compiler\", fr_compiler", "\"features\", fr_features"};
    for (const auto& [key, value] : given) rows.push_back(fmt::format("{}, {}", quoted(key), quoted(value)));
    return table("FrFact", "module_facts", rows);
  }

  std::string workspaces() {
    std::vector<std::string> rows;
    for (const InterfaceWorkspace& w : of_.workspaces)
      rows.push_back(fmt::format("sizeof(FrWorkspace), {}, {}, {}", w.alignment, quoted(w.name), postfix(w.bytes)));
    return table("FrWorkspace", "module_workspaces", rows);
  }

  std::string statuses() {
    std::vector<std::string> rows;
    for (const auto& [status, text] : of_.statuses) rows.push_back(fmt::format("{}, {}", status, quoted(text)));
    return table("FrStatusText", "module_statuses", rows);
  }

  std::string words_table(const char* name, const std::vector<int32_t>& words) {
    if (words.empty()) return "nullptr";
    tables_ += fmt::format("static const int32_t {}[] = {{{}}};\n", name, fmt::join(words, ", "));
    return name;
  }

  const Interface& of_;
  std::map<SymbolId, int64_t> slots_;
  std::map<std::string, std::string> tables_by_words_;
  std::string words_, tables_;
  int expression_tables_ = 0, records_ = 0, callbacks_ = 0;
};

}  // namespace

std::string descriptor_text(const Interface& described, const std::string& digest, const BuildFacts& facts,
                            const std::string& scope, const std::string& symbol, const EntryPoints& entries) {
  return Descriptor(described).write(digest, facts, scope, symbol, entries);
}

}  // namespace ferrule
