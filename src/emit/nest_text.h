// The C++ of one nest: loops, hoisted row pointers, one line a register, or a reduction by the templates of
// rt/reduce.h.
#pragma once

#include <string>
#include <vector>

#include "emit/names.h"
#include "emit/text.h"
#include "loops/walk.h"

namespace ferrule {

class NestText {
 public:
  NestText(const loops::Loops& loops, const loops::Aliases& aliases, const Names& names, Text& text)
      : loops_(loops), aliases_(aliases), names_(names), text_(text) {}

  void write(const loops::Nest& nest);

  // An access as an expression: the variable of a scalar, or an element behind a pointer.
  std::string element(const loops::Access& access) const;
  std::string address(const loops::Access& access) const;

 private:
  struct Row {
    std::string name;
    BufferId buffer;
    Expr rest;
    int level;
  };

  void plan(const loops::Nest& nest);
  int level_of(const Expr& expr) const;
  bool stored_here(BufferId buffer) const;
  void make_rows(const loops::Access& access, int inner, int limit);
  std::string row_element(const loops::Access& access) const;
  std::string value(const loops::Instr& instr) const;
  void write_instr(const loops::Instr& instr);
  void write_level(int level);
  void open_axis(const loops::Axis& axis, bool innermost);
  void write_loops();
  void write_reductions();
  void write_reduction(const loops::Reduction& reduction, size_t parallel);
  bool prefers_rows(size_t parallel) const;
  std::string expr(const Expr& e) const { return to_cpp(e, names_.symbols()); }

  const loops::Loops& loops_;
  const loops::Aliases& aliases_;
  const Names& names_;
  Text& text_;

  // Of the nest being written.
  const loops::Nest* nest_ = nullptr;
  std::vector<int> levels_;  // by instruction
  std::vector<int> uses_;    // by register
  std::vector<int> register_level_;
  std::vector<std::string> texts_;  // by register: how operands spell it
  std::vector<Row> rows_;
  bool stores_last_ = false;  // no load follows a store
  int named_ = 0;             // registers with a line of their own so far
  SymbolId inner_ = kNone;    // the variable that row pointers leave out
};

// The buffer that owns the memory of `buffer` as a C++ pointer, and the elements to add.
std::pair<BufferId, Expr> pointer_of(const loops::Loops& loops, BufferId buffer);
// Whether the buffer is a plain C++ variable: a scalar argument or a local of rank 0.
bool is_variable(const loops::Loops& loops, BufferId buffer);

}  // namespace ferrule
