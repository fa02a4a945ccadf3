// Postfix code of expressions and conditions for the call plan (FrExpr of abi.h).
#include "ferrule/abi.h"
#include "index/node.h"

namespace ferrule {
namespace {

class Writer {
 public:
  explicit Writer(const std::function<int64_t(SymbolId)>& slot) : slot_(slot) {}

  void write(const Expr& canonical) {
    const Expr expr = with_mods(canonical);
    bool first = true;
    for (const Term& term : expr.node().terms) {
      bool negative = term.coefficient < 0;
      if (term.coefficient == 1 || term.coefficient == -1) {
        write(*term.monomial);
        // The sign of a later term is in the operation that joins it.
        if (negative && first) code_.push_back(FR_X_NEG);
        if (!first) code_.push_back(negative ? FR_X_SUB : FR_X_ADD);
      } else {
        write(*term.monomial);
        constant(term.coefficient);
        code_.push_back(FR_X_MUL);
        if (!first) code_.push_back(FR_X_ADD);
      }
      first = false;
    }
    if (expr.node().constant != 0 || first) {
      constant(expr.node().constant);
      if (!first) code_.push_back(FR_X_ADD);
    }
  }

  void op(FrExprOp operation) { code_.push_back(operation); }
  std::vector<int64_t> take() { return std::move(code_); }

 private:
  void constant(int64_t value) {
    code_.push_back(FR_X_CONST);
    code_.push_back(value);
  }

  void write(const Monomial& monomial) {
    bool first = true;
    for (const Factor& factor : monomial.factors) {
      write(factor.atom);
      if (factor.exponent != 1) {
        constant(factor.exponent);
        code_.push_back(FR_X_POW);
      }
      if (!first) code_.push_back(FR_X_MUL);
      first = false;
    }
  }

  void write(const Atom& atom) {
    if (atom.kind == AtomKind::Symbol) {
      code_.push_back(FR_X_SYMBOL);
      code_.push_back(slot_(atom.symbol));
      return;
    }
    write(atom.operand(0));
    for (size_t i = 1; i < atom.operands->size(); ++i) {
      write(atom.operand(i));
      code_.push_back(opcode(atom.kind));
    }
  }

  static FrExprOp opcode(AtomKind kind) {
    switch (kind) {
      case AtomKind::Symbol:
        return FR_X_SYMBOL;
      case AtomKind::FloorDiv:
        return FR_X_FLOORDIV;
      case AtomKind::Mod:
        return FR_X_MOD;
      case AtomKind::Min:
        return FR_X_MIN;
      case AtomKind::Max:
        return FR_X_MAX;
      case AtomKind::Pow:
        return FR_X_POW;
    }
    return FR_X_CONST;
  }

  const std::function<int64_t(SymbolId)>& slot_;
  std::vector<int64_t> code_;
};

FrExprOp opcode(Relation relation) {
  switch (relation) {
    case Relation::Eq:
      return FR_X_EQ;
    case Relation::Ne:
      return FR_X_NE;
    case Relation::Lt:
      return FR_X_LT;
    case Relation::Le:
      return FR_X_LE;
  }
  return FR_X_EQ;
}

}  // namespace

std::vector<int64_t> to_postfix(const Expr& expr, const std::function<int64_t(SymbolId)>& slot) {
  Writer writer(slot);
  writer.write(expr);
  return writer.take();
}

std::vector<int64_t> to_postfix(const Condition& condition, const std::function<int64_t(SymbolId)>& slot) {
  Writer writer(slot);
  writer.write(condition.left);
  writer.write(condition.right);
  writer.op(opcode(condition.relation));
  return writer.take();
}

}  // namespace ferrule
