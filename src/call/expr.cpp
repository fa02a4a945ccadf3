#include "call/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/entries.h"
#include "base/error.h"
#include "call/scalar.h"

namespace ferrule {
namespace {

constexpr int kMostDepth = 64;

Error malformed(const FrModule& module, std::string_view what) {
  return Error(ErrorKind::Incompatible,
               fmt::format("'{}' holds an expression that {}; build it again.", module.name, what));
}

bool has_operand(int64_t op) { return op == FR_X_CONST || op == FR_X_SYMBOL || op == FR_X_FCONST || op == FR_X_FARG; }

// Values that an opcode takes from the stack; -1 for an unknown opcode.
int arity(int64_t op) {
  switch (op) {
    case FR_X_CONST:
    case FR_X_SYMBOL:
    case FR_X_FCONST:
    case FR_X_FARG:
      return 0;
    case FR_X_NEG:
    case FR_X_NOT:
    case FR_X_FFROMI:
      return 1;
    case FR_X_SELECT:
      return 3;
    default:
      const bool known = (op >= FR_X_ADD && op <= FR_X_POW) || (op >= FR_X_FLT && op <= FR_X_FEQ) ||
                         (op >= FR_X_FADD && op <= FR_X_FDIV);
      return known ? 2 : -1;
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

int64_t power(int64_t base, int64_t exponent, bool& overflow) {
  if (exponent < 0) return 0;
  int64_t result = 1;
  for (;;) {
    if ((exponent & 1) != 0) overflow |= __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent == 0) return result;
    overflow |= __builtin_mul_overflow(base, base, &base);
  }
}

int64_t binary(int64_t op, int64_t a, int64_t b, bool& overflow) {
  int64_t r = 0;
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  switch (op) {
    case FR_X_ADD:
      overflow |= __builtin_add_overflow(a, b, &r);
      return r;
    case FR_X_SUB:
      overflow |= __builtin_sub_overflow(a, b, &r);
      return r;
    case FR_X_MUL:
      overflow |= __builtin_mul_overflow(a, b, &r);
      return r;
    case FR_X_FLOORDIV:
    case FR_X_MOD:
      if (b == 0) return 0;
      if (b == -1) {  // the one quotient that does not fit would trap
        if (op == FR_X_MOD) return 0;
        overflow |= __builtin_sub_overflow(int64_t{0}, a, &r);
        return r;
      }
      return op == FR_X_MOD ? a - floor_div(a, b) * b : floor_div(a, b);
    case FR_X_MIN:
      return std::min(a, b);
    case FR_X_MAX:
      return std::max(a, b);
    case FR_X_EQ:
      return a == b;
    case FR_X_NE:
      return a != b;
    case FR_X_LT:
      return a < b;
    case FR_X_LE:
      return a <= b;
    case FR_X_AND:
      return a != 0 && b != 0;
    case FR_X_OR:
      return a != 0 || b != 0;
    case FR_X_POW:
      return power(a, b, overflow);
    case FR_X_FLT:
      return x < y;
    case FR_X_FLE:
      return x <= y;
    case FR_X_FEQ:
      return x == y;
    case FR_X_FADD:
      return std::bit_cast<int64_t>(x + y);
    case FR_X_FSUB:
      return std::bit_cast<int64_t>(x - y);
    case FR_X_FMUL:
      return std::bit_cast<int64_t>(x * y);
    default:
      return std::bit_cast<int64_t>(x / y);  // FR_X_FDIV: make() lets nothing else through
  }
}

}  // namespace

PostfixExpr PostfixExpr::make(const FrExpr& code, const FrModule& module, int64_t if_empty) {
  PostfixExpr expr;
  expr.a_ = if_empty;
  return code.count == 0 ? expr : parse(code, module, module.n_symbols);
}

PostfixExpr PostfixExpr::make_solve(const FrExpr& code, const FrModule& module) {
  static constexpr int64_t kValue[] = {FR_X_SYMBOL, 0};
  return parse(code.count == 0 ? FrExpr{kValue, 2} : code, module, 1);
}

PostfixExpr PostfixExpr::parse(const FrExpr& code, const FrModule& module, uint32_t n_symbols) {
  PostfixExpr expr;
  int depth = 0;
  for (uint32_t i = 0; i < code.count; ++i) {
    const int64_t op = code.code[i] & 0xff;
    const int taken = arity(op);
    if (taken < 0) throw malformed(module, fmt::format("uses opcode {}, which this library does not know", op));
    Step step{static_cast<uint8_t>(op), 0, 0};
    if (has_operand(op)) {
      if (++i == code.count) throw malformed(module, "ends in the middle");
      step.operand = code.code[i];
    }
    const auto index = static_cast<uint64_t>(step.operand);
    if (op == FR_X_SYMBOL && index >= n_symbols) throw malformed(module, "names a missing symbol");
    if (op == FR_X_FARG) {
      if (index >= module.n_args) throw malformed(module, "names a missing argument");
      const FrArg& arg = entry_at(module.args, static_cast<uint32_t>(index));
      if (arg.kind != FR_ARG_SCALAR || arg.dtype > FR_F64 || arg.dtype == FR_F16 || arg.dtype == FR_BF16)
        throw malformed(module, "reads an argument that is no real scalar");
      step.dtype = arg.dtype;
    }
    if (depth < taken) throw malformed(module, "takes more values than it has");
    depth += 1 - taken;
    if (depth > kMostDepth) throw malformed(module, "is too deep");
    expr.steps_.push_back(step);
  }
  if (depth != 1) throw malformed(module, "leaves no single value");
  expr.recognise();
  return expr;
}

void PostfixExpr::recognise() {
  const auto& s = steps_;
  form_ = Form::General;
  if (s.size() == 1 && (s[0].op == FR_X_CONST || s[0].op == FR_X_SYMBOL)) {
    form_ = s[0].op == FR_X_CONST ? Form::Constant : Form::Symbol;
    a_ = s[0].operand;
  } else if (s.size() == 3) {
    const bool left = s[0].op == FR_X_SYMBOL, right = s[1].op == FR_X_SYMBOL;
    const bool plain = (left || s[0].op == FR_X_CONST) && (right || s[1].op == FR_X_CONST);
    if (!plain || (!left && !right)) return;
    const bool swap = !left;
    a_ = s[swap ? 1 : 0].operand;
    b_ = s[swap ? 0 : 1].operand;
    if (s[2].op == FR_X_EQ) form_ = left && right ? Form::EqualSymbols : Form::EqualConstant;
    if (s[2].op == FR_X_LE && swap) form_ = Form::AtLeast;
  }
}

std::vector<int32_t> PostfixExpr::symbols() const {
  std::vector<int32_t> found;
  for (const Step& step : steps_) {
    const auto symbol = static_cast<int32_t>(step.operand);
    if (step.op == FR_X_SYMBOL && std::find(found.begin(), found.end(), symbol) == found.end()) found.push_back(symbol);
  }
  return found;
}

std::optional<int64_t> PostfixExpr::most(int64_t largest) const {
  if (form_ == Form::Constant) return a_;
  // Interval arithmetic with the operations that the estimates are made of.
  struct Interval {
    int64_t low, high;
  };
  std::vector<Interval> stack;
  bool overflow = false;
  const auto at = [&](int64_t op, int64_t a, int64_t b) { return binary(op, a, b, overflow); };
  for (const Step& step : steps_) {
    if (step.op == FR_X_CONST) {
      stack.push_back({step.operand, step.operand});
      continue;
    }
    if (step.op == FR_X_SYMBOL) {
      stack.push_back({0, largest});
      continue;
    }
    if (arity(step.op) != 2) return std::nullopt;
    const Interval b = stack.back();
    stack.pop_back();
    Interval& a = stack.back();
    switch (step.op) {
      case FR_X_ADD:
      case FR_X_MIN:
      case FR_X_MAX:
        a = {at(step.op, a.low, b.low), at(step.op, a.high, b.high)};
        break;
      case FR_X_SUB:
        a = {at(step.op, a.low, b.high), at(step.op, a.high, b.low)};
        break;
      case FR_X_FLOORDIV:
        if (b.low != b.high || b.low <= 0) return std::nullopt;
        a = {at(step.op, a.low, b.low), at(step.op, a.high, b.low)};
        break;
      case FR_X_MUL: {
        const auto [low, high] = std::minmax({at(step.op, a.low, b.low), at(step.op, a.low, b.high),
                                              at(step.op, a.high, b.low), at(step.op, a.high, b.high)});
        a = {low, high};
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return overflow ? std::nullopt : std::optional(stack.back().high);
}

Evaluated PostfixExpr::eval_general(const int64_t* symbols, void* const* args) const {
  int64_t stack[kMostDepth];
  int64_t* top = stack - 1;
  bool overflow = false;
  for (const Step& step : steps_) {
    switch (step.op) {
      case FR_X_CONST:
      case FR_X_FCONST:
        *++top = step.operand;
        break;
      case FR_X_SYMBOL:
        *++top = symbols[step.operand];
        break;
      case FR_X_FARG:
        *++top = std::bit_cast<int64_t>(scalar_as_double(args[step.operand], static_cast<DType>(step.dtype)));
        break;
      case FR_X_NEG:
        overflow |= __builtin_sub_overflow(int64_t{0}, *top, top);
        break;
      case FR_X_NOT:
        *top = *top == 0;
        break;
      case FR_X_FFROMI:
        *top = std::bit_cast<int64_t>(static_cast<double>(*top));
        break;
      case FR_X_SELECT:
        top -= 2;
        *top = top[0] != 0 ? top[1] : top[2];
        break;
      default:
        --top;
        *top = binary(step.op, top[0], top[1], overflow);
    }
  }
  return {*top, overflow};
}

}  // namespace ferrule
