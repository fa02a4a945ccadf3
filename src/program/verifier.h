// One check of a Program against the rules of program.h. Each file verify*.cpp checks one part; verify.cpp runs them.
#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "program/program.h"

namespace ferrule {

// Every function throws internal_error where a rule is broken.
class Verifier {
 public:
  explicit Verifier(const Program& program);
  void run();

 private:
  // Regions, scopes and values (verify.cpp).
  [[noreturn]] void broken(std::string_view rule) const;
  void require(bool holds, std::string_view rule) const {
    if (!holds) broken(rule);
  }
  // Loop variables, symbols that a Symbolize defines and sizes that come with a carried value are in scope below; those
  // with a source everywhere.
  void scope_symbols();
  void in_scope(const Expr& e) const;
  void define(ValueId id);
  // The sizes that come with a parameter or result of control flow.
  void define_sizes(ValueId id, std::vector<SymbolId>& defined_here);
  const ValueType& use(ValueId id) const;
  const ValueType& operand(size_t i) const { return use(current_->operands[i]); }
  const ValueType& result_type() const { return p_.values[current_->results[0]]; }
  void region(const Region& r);
  bool equal(const Expr& a, const Expr& b) const { return a == b || facts_.prove_equal(a, b); }
  bool equal(const std::vector<Expr>& a, const std::vector<Expr>& b) const;

  // What stands outside of the body (verify_tables.cpp).
  void known(const Expr& e) const;
  void buffer(BufferId id);
  void map(const IndexMap& m, size_t source_rank) const;
  void type(const ValueType& t) const;
  void argument(int index);
  void source(const SymbolSource& s) const;
  void result(const Result& r) const;
  void flags() const;

  // Operations (verify_ops.cpp).
  void arity(size_t operands, size_t results) const;
  void operation(const Op& op);
  void constant(const Op& op) const;
  void symbolize(const Op& op) const;
  void elementwise(const Op& op) const;
  void cast(const Op& op) const;
  void iota(const Op& op) const;
  void fill(const Op& op) const;
  void remap(const Op& op) const;
  void reduce(const Op& op) const;

  // Memory (verify_memory.cpp).
  BufferId memory(BufferId id) const { return p_.buffers[id].storage == Storage::Alias ? p_.buffers[id].base : id; }
  void view(const Op& op) const;
  void load() const;
  void store() const;
  void alloc(const Op& op);

  // Control flow (verify_control.cpp).
  void test(const Op& op) const;
  // The symbol, if it takes its value with the value that is carried: an opaque one that has none here.
  std::optional<SymbolId> carried_symbol(const Expr& e) const;
  void carried(const std::vector<ValueId>& given, const std::vector<ValueId>& expected) const;
  void for_loop(const Op& op);
  void while_loop(const Op& op);
  void if_else(const Op& op);

  const Program& p_;
  Facts facts_;
  std::vector<bool> visible_, defined_;
  std::vector<bool> symbol_in_scope_;
  std::unordered_set<SymbolId> local_symbols_;  // of loops and Symbolize
  std::unordered_set<BufferId> allocated_;
  std::vector<ValueId> scope_;
  const Op* current_ = nullptr;
};

}  // namespace ferrule
