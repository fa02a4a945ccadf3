// Builds the straight-line body of a nest; equal operations on equal registers and indices become one register.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loops/walk.h"

namespace ferrule::loops {

class NestBuilder {
 public:
  // A store makes every load stale.
  NestBuilder() = default;
  // `aliases` says which loads a store makes stale; it must outlive the builder.
  explicit NestBuilder(const Aliases* aliases) : aliases_(aliases) {}

  int constant(DType dtype, uint64_t bits);
  int index(const Expr& expr);  // int64
  int load(Access access, DType dtype);
  int element(ElementOp op, DType dtype, std::vector<int> operands);
  int cast(int value, DType dtype);  // the value itself where it has the dtype already
  void store(Access access, int value);
  DType dtype(int value) const { return dtypes_[value]; }

  // Appends an instruction of another nest: operands renamed by `renamed`, symbols replaced by `replace`. Returns the
  // new register, -1 for a store.
  int copy(const Instr& instr, const std::vector<int>& renamed,
           const std::function<std::optional<Expr>(SymbolId)>& replace);

  // The body so far; the builder is empty afterwards.
  std::vector<Instr> finish();

 private:
  int append(Instr instr);
  static size_t hash(const Instr& instr);
  static bool same(const Instr& a, const Instr& b);

  const Aliases* aliases_ = nullptr;
  std::vector<Instr> body_;
  std::vector<DType> dtypes_;
  struct Known {
    Instr instr;
    int value;
  };
  std::unordered_multimap<size_t, Known> known_;
};

Access substitute(const Access& access, const std::function<std::optional<Expr>(SymbolId)>& replace);

// The body without instructions that no store or reduction needs, registers renumbered.
void remove_unused(Nest& nest);

}  // namespace ferrule::loops
