// The state of one lowering: where each value of the Program lives, and the block that statements go to.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "analyse/analyse.h"
#include "loops/loops.h"
#include "loops/nest_builder.h"
#include "loops/walk.h"
#include "program/program.h"

namespace ferrule::lowering {

class Lowering {
 public:
  Lowering(const Program& program, const ProgramFacts& facts);
  loops::Loops run();

 private:
  // A nest under construction over a shape: axes of extent 1 have no loop and index 0.
  struct Domain {
    std::vector<loops::Axis> axes;
    std::vector<Expr> index;
  };

  // Values and memory (lower.cpp).
  void make_buffers();
  void plan_returns();
  void finish_returns();
  void drop_unused_pointers();
  void make_alias_pairs();
  Expr canonical(const Expr& expr) const { return entry_facts_.canonical(expr); }
  std::vector<Expr> canonical(const std::vector<Expr>& exprs) const;
  // Memory for a pure value; for a value that is returned, the return's own.
  BufferId memory_for(ValueId value, const ValueType& type);
  BufferId memory_without_make(ValueId value, const ValueType& type, bool may_be_return);
  BufferId new_buffer(const std::string& name, DType dtype, std::vector<Expr> shape);
  std::string fresh_name(const std::string& name);
  // Whether a call knows the shape before it runs.
  bool known_at_entry(const std::vector<Expr>& shape) const;
  // The statement that makes memory whose size no caller can know.
  void make_if_opaque(BufferId buffer);

  // Operations (lower_ops.cpp).
  void lower_region(const Region& region, loops::Block& block);
  void lower_op(const Op& op);
  Domain domain(const std::vector<Expr>& shape);
  loops::Access view_access(const ValueType& view, const std::vector<Expr>& index) const;
  int read(loops::NestBuilder& body, ValueId value, const std::vector<Expr>& index);
  // The scalar as a place in memory; constants and sizes are stored first.
  loops::Access scalar_access(ValueId value);
  void finish_nest(Domain domain, loops::NestBuilder& body, int site);
  void copy(ValueId source, BufferId target);
  // `shape`: that of both.
  void copy_memory(BufferId source, BufferId target, const std::vector<Expr>& shape);
  void lower_elementwise(const Op& op);
  void lower_remap(const Op& op);
  void lower_store(const Op& op);
  void lower_load(const Op& op);
  void lower_reduce(const Op& op);

  // Regions (lower_control.cpp).
  void lower_for(const Op& op);
  void lower_while(const Op& op);
  void lower_if(const Op& op);
  // Gives each carried scalar and array of a loop its memory, shared by parameters and result.
  void place_carried(const Op& op);
  // Whether an extent comes with what a region carries: memory of that shape is made where it is assigned.
  bool changes_shape(const std::vector<Expr>& shape) const;
  enum class Assign : uint8_t {
    First,  // nothing reads the targets and their sizes yet
    Next,   // the sources may be made of the targets
  };
  // carried i of `op` = sources[i], all at once. `pointers[i]`: the views that follow.
  void assign(Assign when, const std::vector<BufferId>& targets, const std::vector<std::vector<ValueId>>& pointers,
              const std::vector<ValueId>& sources);
  // The symbol, if the expression is one whose value comes with what a region carries.
  std::optional<SymbolId> carried_symbol(const Expr& expr) const;
  // Elements from one index of a view's axis to the next.
  Expr view_stride(const ValueType& view, int axis) const;
  std::vector<std::vector<ValueId>> loop_pointers(const Op& op) const;
  std::vector<BufferId> carried_memory(const std::vector<ValueId>& values) const;

  loops::Stmt& append(loops::Stmt stmt);

  const Program& program_;
  const ProgramFacts& facts_;
  loops::Loops out_;
  Facts entry_facts_;
  std::vector<bool> entry_known_;
  std::vector<bool> symbolized_;                       // symbols that a Symbolize defines
  std::vector<BufferId> memory_;                       // by ValueId: scalars and arrays that live in memory
  std::vector<const Op*> immediate_;                   // by ValueId: Constant and Size
  std::unordered_map<ValueId, int> returned_;          // values whose memory is a return's
  std::unordered_map<BufferId, int> returned_buffer_;  // Transients that are a return as they stand
  std::vector<bool> elided_;                           // by ValueId: Loads of such a Transient
  std::unordered_map<std::string, int> names_;
  loops::Block* block_ = nullptr;
};

}  // namespace ferrule::lowering
