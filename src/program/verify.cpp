#include "program/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "program/op.h"
#include "program/verifier.h"
#include "program/visit.h"

namespace ferrule {
namespace {

std::string_view op_word(OpKind kind) {
  static constexpr std::string_view kWords[] = {"constant", "size",  "symbolize", "elementwise", "cast",  "iota",
                                                "fill",     "remap", "view",      "load",        "store", "alloc",
                                                "reduce",   "check", "for",       "while",       "if"};
  return kWords[static_cast<size_t>(kind)];
}

}  // namespace

Verifier::Verifier(const Program& program)
    : p_(program),
      facts_(&program.symbols),
      visible_(program.values.size()),
      defined_(program.values.size()),
      symbol_in_scope_(program.symbols.size(), true) {}

void Verifier::run() {
  scope_symbols();
  for (BufferId id = 0; id < p_.buffers.size(); ++id) buffer(id);
  for (const ValueType& type : p_.values) this->type(type);
  for (size_t i = 0; i < p_.arguments.size(); ++i) argument(static_cast<int>(i));
  for (const SymbolSource& source : p_.sources) this->source(source);
  for (const Guard& guard : p_.guards) {
    in_scope(guard.condition.left);
    in_scope(guard.condition.right);
    facts_.assume(guard.condition);
  }
  require(p_.body.params.empty() && p_.body.yields.empty(), "the body has neither parameters nor yields");
  region(p_.body);
  for (const Result& result : p_.results) this->result(result);
  flags();
}

void Verifier::broken(std::string_view rule) const {
  std::string where;
  if (current_ != nullptr) {
    const std::string_view name =
        current_->kind == OpKind::Elementwise ? info(current_->element_op).name : op_word(current_->kind);
    where = fmt::format(" Operation '{}' with operands ({}) and results ({}).", name,
                        fmt::join(current_->operands, ", "), fmt::join(current_->results, ", "));
  }
  throw internal_error(fmt::format("The program '{}' breaks a rule: {}.{}", p_.name, rule, where));
}

void Verifier::scope_symbols() {
  for_each_op(p_.body, [&](const Op& op) {
    if (op.kind != OpKind::For && op.kind != OpKind::Symbolize) return;
    require(op.symbol < p_.symbols.size(), "a symbol lies in the program's table");
    require(symbol_in_scope_[op.symbol], "a symbol is defined once");
    symbol_in_scope_[op.symbol] = false;
    local_symbols_.insert(op.symbol);
  });
  // Sizes that are carried come with the parameters and results that have them; what a call does not know has no value.
  symbol_in_scope_.assign(p_.symbols.size(), false);
  for (SymbolId id = 0; id < p_.symbols.size(); ++id)
    require(p_.symbols[id].kind != SymbolKind::Loop || local_symbols_.contains(id), "a loop variable has a loop");
  for (const SymbolSource& s : p_.sources) {
    require(s.symbol < p_.symbols.size(), "a symbol lies in the program's table");
    require(!local_symbols_.contains(s.symbol), "a symbol with a source is not defined again inside the program");
    symbol_in_scope_[s.symbol] = true;
  }
}

void Verifier::in_scope(const Expr& e) const {
  for (const SymbolId id : e.symbols()) {
    require(id < p_.symbols.size(), "a symbol lies in the program's table");
    if (!symbol_in_scope_[id])
      broken(fmt::format("the symbol '{}' is used where it has no value", p_.symbols[id].name));
  }
}

void Verifier::define(ValueId id) {
  require(id < p_.values.size(), "a value lies in the program's table");
  require(!defined_[id], "a value is defined once");
  defined_[id] = visible_[id] = true;
  scope_.push_back(id);
}

void Verifier::define_sizes(ValueId id, std::vector<SymbolId>& defined_here) {
  const auto define_size = [&](const Expr& size) {
    const auto symbol = carried_symbol(size);
    if (!symbol) return;
    symbol_in_scope_[*symbol] = true;
    defined_here.push_back(*symbol);
  };
  const ValueType& type = p_.values[id];
  for (const Expr& extent : type.shape) define_size(extent);
  if (type.kind == ValueKind::View)
    for (const Expr& stride : p_.buffers[type.buffer].strides) define_size(stride);
}

const ValueType& Verifier::use(ValueId id) const {
  require(id < p_.values.size(), "a value lies in the program's table");
  require(visible_[id], "a value is defined before its use, in the same or an enclosing region");
  return p_.values[id];
}

void Verifier::region(const Region& r) {
  const size_t begin = scope_.size();
  std::vector<SymbolId> defined_here;
  for (const ValueId id : r.params) {
    define(id);
    define_sizes(id, defined_here);
    require(p_.values[id].kind != ValueKind::View || p_.buffers[p_.values[id].buffer].storage == Storage::Carried,
            "a view parameter has a carried buffer");
  }
  for (const Op& op : r.ops) {
    current_ = &op;
    operation(op);
    current_ = &op;
    for (const ValueId id : op.results) {
      define(id);
      if (!op.regions.empty()) define_sizes(id, defined_here);
      for_each_expr_of_type(p_.values[id], [&](const Expr& e) { in_scope(e); });
    }
    if (op.kind == OpKind::Symbolize) {
      symbol_in_scope_[op.symbol] = true;
      defined_here.push_back(op.symbol);
    }
    if (op.kind == OpKind::Check && op.condition) facts_.assume(*op.condition);
  }
  for (const ValueId id : r.yields) use(id);
  // The body's values stay for the results.
  if (&r == &p_.body) return;
  for (size_t i = begin; i < scope_.size(); ++i) visible_[scope_[i]] = false;
  scope_.resize(begin);
  for (const SymbolId id : defined_here) symbol_in_scope_[id] = false;
}

bool Verifier::equal(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](const Expr& x, const Expr& y) { return equal(x, y); });
}

void verify(const Program& program) { Verifier(program).run(); }

}  // namespace ferrule
