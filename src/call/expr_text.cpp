#include <fmt/format.h>

#include <bit>
#include <utility>

#include "base/entries.h"
#include "call/expr.h"

namespace ferrule {
namespace {

// Text and how tightly its outermost operator binds: 0 comparison, 1 sum, 2 product, 3 power, 4 atom.
struct Piece {
  std::string text;
  int level;
  bool constant = false;
};

std::string at_least(const Piece& piece, int level) {
  return piece.level >= level ? piece.text : fmt::format("({})", piece.text);
}

struct Operator {
  const char* sign;
  int level;  // 4: written as a function call
};

Operator operator_of(int64_t op) {
  switch (op) {
    case FR_X_ADD:
    case FR_X_FADD:
      return {" + ", 1};
    case FR_X_SUB:
    case FR_X_FSUB:
      return {" - ", 1};
    case FR_X_MUL:
    case FR_X_FMUL:
      return {"*", 2};
    case FR_X_FLOORDIV:
      return {"//", 2};
    case FR_X_FDIV:
      return {"/", 2};
    case FR_X_MOD:
      return {" % ", 2};
    case FR_X_POW:
      return {"**", 3};
    case FR_X_EQ:
    case FR_X_FEQ:
      return {" == ", 0};
    case FR_X_NE:
      return {" != ", 0};
    case FR_X_LT:
    case FR_X_FLT:
      return {" < ", 0};
    case FR_X_LE:
    case FR_X_FLE:
      return {" <= ", 0};
    case FR_X_AND:
      return {" and ", 0};
    case FR_X_OR:
      return {" or ", 0};
    case FR_X_MIN:
      return {"min", 4};
    default:
      return {"max", 4};
  }
}

Piece take(std::vector<Piece>& stack) {
  if (stack.empty()) return {"?", 4};
  Piece piece = std::move(stack.back());
  stack.pop_back();
  return piece;
}

// Whether a piece is '-' and what is to be subtracted instead. Of -N // 2 and -N % 2 the sign is the dividend's.
bool is_negated(const Piece& piece) {
  return piece.level >= 2 && piece.text[0] == '-' && piece.text.find_first_of("/%") == std::string::npos;
}

Piece combine(int64_t op, std::vector<Piece>& stack) {
  const Piece b = take(stack);
  if (op == FR_X_NEG) return {fmt::format("-{}", at_least(b, 3)), 2};
  if (op == FR_X_NOT) return {fmt::format("not {}", at_least(b, 4)), 0};
  if (op == FR_X_FFROMI) return b;
  const Piece a = take(stack);
  if (op == FR_X_MUL && b.constant && !a.constant) return {at_least(b, 2) + "*" + at_least(a, 3), 2};  // 2*N, not N*2
  if (op == FR_X_SELECT) return {fmt::format("({} if {} else {})", a.text, take(stack).text, b.text), 4};
  const Operator o = operator_of(op);
  if (o.level == 4) return {fmt::format("{}({}, {})", o.sign, a.text, b.text), 4};
  if (const bool adds = o.level == 1 && o.sign[1] == '+'; adds && is_negated(b))
    return {at_least(a, 1) + " - " + b.text.substr(1), 1};
  const int left = o.level == 3 || o.level == 0 ? o.level + 1 : o.level;
  return {at_least(a, left) + o.sign + at_least(b, o.level == 3 ? 3 : o.level + 1), o.level};
}

}  // namespace

std::string text_of(const FrExpr& code, const FrModule& module) {
  std::vector<Piece> stack;
  for (uint32_t i = 0; i < code.count; ++i) {
    const int64_t op = code.code[i] & 0xff;
    const auto operand = [&] { return ++i < code.count ? code.code[i] : 0; };
    if (op == FR_X_CONST) {
      const int64_t value = operand();
      stack.push_back({std::to_string(value), value < 0 ? 2 : 4, true});
    } else if (op == FR_X_FCONST) {
      stack.push_back({fmt::format("{}", std::bit_cast<double>(operand())), 4});
    } else if (op == FR_X_SYMBOL) {
      const auto index = static_cast<uint32_t>(operand());
      stack.push_back({index < module.n_symbols ? entry_at(module.symbols, index).name : "?", 4});
    } else if (op == FR_X_FARG) {
      const auto index = static_cast<uint32_t>(operand());
      stack.push_back({index < module.n_args ? entry_at(module.args, index).name : "?", 4});
    } else {
      Piece piece = combine(op, stack);
      stack.push_back(std::move(piece));
    }
  }
  return stack.empty() ? std::string() : std::move(stack.back().text);
}

}  // namespace ferrule
