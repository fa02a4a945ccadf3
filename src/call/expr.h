// Integer expressions of a descriptor, verified once so that evaluating them at a call needs no checks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ferrule/abi.h"

namespace ferrule {

// A value, and whether integer arithmetic on the way left the 64 bits (the value is then meaningless).
struct Evaluated {
  int64_t value;
  bool overflow;
};

class PostfixExpr {
 public:
  PostfixExpr() = default;

  // Verifies the postfix code: known opcodes, operands within the module's tables, one value left, bounded depth.
  // Raises Incompatible otherwise. An expression of no words is the constant `if_empty`.
  static PostfixExpr make(const FrExpr& code, const FrModule& module, int64_t if_empty = 0);
  // The same for FrSymbol::solve, which knows one symbol only: the value of the source. No words mean that value.
  static PostfixExpr make_solve(const FrExpr& code, const FrModule& module);

  // `symbols` in descriptor order; `args` are the pointers of the call, read for scalar arguments only.
  Evaluated eval(const int64_t* symbols, void* const* args) const {
    // Comparisons in the order of their frequency: guards of one program have one form, and a jump table costs more.
    if (form_ == Form::AtLeast) return {symbols[a_] >= b_, false};
    if (form_ == Form::EqualSymbols) return {symbols[a_] == symbols[b_], false};
    if (form_ == Form::EqualConstant) return {symbols[a_] == b_, false};
    if (form_ == Form::Symbol) return {symbols[a_], false};
    if (form_ == Form::Constant) return {a_, false};
    return eval_general(symbols, args);
  }

  bool is_constant() const { return form_ == Form::Constant; }
  bool is_zero() const { return is_constant() && a_ == 0; }
  // The symbol that the expression is, or -1.
  int32_t symbol() const { return form_ == Form::Symbol ? static_cast<int32_t>(a_) : -1; }
  // The two symbols whose equality the expression is, or -1 twice.
  std::pair<int32_t, int32_t> equal_symbols() const {
    if (form_ != Form::EqualSymbols) return {-1, -1};
    return {static_cast<int32_t>(a_), static_cast<int32_t>(b_)};
  }
  // The symbols that the value depends on, each once.
  std::vector<int32_t> symbols() const;
  // What the value cannot exceed while every symbol lies in [0, largest]; nothing where that is not certain.
  std::optional<int64_t> most(int64_t largest) const;

 private:
  // The forms that most guards and extents have are evaluated in place.
  enum class Form : uint8_t { Constant, Symbol, EqualSymbols, EqualConstant, AtLeast, General };
  struct Step {
    uint8_t op;
    uint8_t dtype;    // FR_X_FARG: of the scalar argument
    int64_t operand;  // FR_X_CONST, FR_X_FCONST, FR_X_SYMBOL, FR_X_FARG
  };

  static PostfixExpr parse(const FrExpr& code, const FrModule& module, uint32_t n_symbols);
  Evaluated eval_general(const int64_t* symbols, void* const* args) const;
  void recognise();

  Form form_ = Form::Constant;
  int64_t a_ = 0, b_ = 0;
  std::vector<Step> steps_;
};

// The expression as a person writes it, with the names of the module's symbols: "2*N", "N // 2 + 1".
std::string text_of(const FrExpr& code, const FrModule& module);

}  // namespace ferrule
