// Conditions: negation, value, text.
#include "index/expr.h"

namespace ferrule {

Condition negate(const Condition& condition) {
  switch (condition.relation) {
    case Relation::Eq:
      return {Relation::Ne, condition.left, condition.right};
    case Relation::Ne:
      return {Relation::Eq, condition.left, condition.right};
    case Relation::Lt:
      return {Relation::Le, condition.right, condition.left};
    case Relation::Le:
      return {Relation::Lt, condition.right, condition.left};
  }
  return condition;
}

bool evaluate(const Condition& condition, std::span<const int64_t> values) {
  int64_t left = condition.left.evaluate(values);
  int64_t right = condition.right.evaluate(values);
  switch (condition.relation) {
    case Relation::Eq:
      return left == right;
    case Relation::Ne:
      return left != right;
    case Relation::Lt:
      return left < right;
    case Relation::Le:
      return left <= right;
  }
  return false;
}

std::string to_string(const Condition& condition, const SymbolNames& name) {
  const char* text = " == ";
  if (condition.relation == Relation::Ne) text = " != ";
  if (condition.relation == Relation::Lt) text = " < ";
  if (condition.relation == Relation::Le) text = " <= ";
  return to_string(condition.left, name) + text + to_string(condition.right, name);
}

}  // namespace ferrule
