// The C++ of a whole program: static functions for its loops, and the entry point that does control flow.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emit/names.h"
#include "emit/nest_text.h"
#include "emit/text.h"
#include "loops/walk.h"

namespace ferrule {

class RunText {
 public:
  RunText(const loops::Loops& loops, std::string entry);
  // Constants, functions, then `int32_t <entry>(void*, const FrCall*)`.
  std::string write();

 private:
  // What a function's statements name.
  struct Uses {
    std::set<BufferId> pointers, written_pointers;    // memory behind a pointer
    std::set<BufferId> variables, written_variables;  // scalars
    std::set<SymbolId> symbols, defined;              // free symbols, and those that a Define sets
    bool checks = false;
  };
  Uses uses_of(const loops::Stmt& stmt) const;
  void add_expr(Uses& uses, const Expr& expr) const;
  void add_access(Uses& uses, const loops::Access& access, bool written) const;
  void count_all();
  bool becomes_function(const loops::Stmt& stmt) const;
  // Whether the block is scalar code alone, so that the loop around it becomes one function.
  bool is_extractable(const loops::Block& block) const;

  void write_constants();
  void write_block(const loops::Block& block, Text& text);
  void write_stmt(const loops::Stmt& stmt, Text& text);
  void write_function(const loops::Stmt& stmt, Text& caller);
  void write_control(const loops::Stmt& stmt, Text& text);
  void write_check(const loops::Check& check, Text& text);
  void write_bind(const loops::BindAll& all, Text& text);
  void write_make(const loops::Make& make, Text& text);
  void write_views(Text& text);
  void write_prologue(Text& text);

  std::string pointer_type(BufferId buffer) const;
  std::string expr(const Expr& e) const { return to_cpp(e, names_.symbols()); }
  std::string condition(const Condition& condition) const;

  const loops::Loops& loops_;
  std::string entry_;
  loops::Aliases aliases_;
  Names names_;
  Text functions_;
  bool in_function_ = false;
  int function_count_ = 0;
  std::vector<int> variable_uses_, define_uses_;  // statements that touch a scalar or a symbol, over the whole program
};

// Headers under ferrule/rt/ that the program's operations need, in order.
std::set<std::string> headers_of(const loops::Loops& loops);

}  // namespace ferrule
