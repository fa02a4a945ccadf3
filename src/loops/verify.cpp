#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "loops/walk.h"

namespace ferrule::loops {
namespace {

class Verifier {
 public:
  explicit Verifier(const Loops& loops) : loops_(loops), defined_(entry_symbols(loops)) {
    // A symbol that a Define gives a value anywhere is a variable of the run; order is checked for loop variables
    // alone, because the extents of carried views are defined at their binds.
    for_each_stmt(loops.body, [&](const Stmt& stmt) {
      if (const Define* define = std::get_if<Define>(&stmt.node)) defined_[define->symbol] = true;
    });
  }

  void run() {
    std::set<std::string> names;
    for (BufferId b = 0; b < loops_.buffers.size(); ++b) check_buffer(b, names);
    check_block(loops_.body);
    for (const AliasPair& pair : loops_.alias) {
      require(size_t(pair.written) < loops_.arguments.size() && size_t(pair.other) < loops_.arguments.size(),
              "alias pair names no argument");
    }
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) throw internal_error(fmt::format("Loops of '{}' are wrong: {}.\n{}", loops_.name, what, print(loops_)));
  }

  void check_expr(const Expr& expr, const char* what) const {
    for (SymbolId id : expr.symbols()) {
      require(id < defined_.size() && defined_[id],
              fmt::format("{} uses '{}' outside its scope", what, loops_.symbols.names()(id)));
    }
  }

  void check_buffer(BufferId id, std::set<std::string>& names) const {
    const Buffer& buffer = loops_.buffers[id];
    require(names.insert(buffer.name).second, fmt::format("buffer name '{}' is taken twice", buffer.name));
    require(buffer.shape.size() == buffer.strides.size(), fmt::format("'{}' has no stride for each axis", buffer.name));
    require(buffer.place != Place::Alias || buffer.base < loops_.buffers.size(), "alias of no buffer");
    require(buffer.place != Place::Argument || size_t(buffer.index) < loops_.arguments.size(), "buffer of no argument");
    const bool returned = buffer.place == Place::Return || buffer.place == Place::Dynamic;
    require(!returned || size_t(buffer.index) < loops_.returns.size(), "buffer of no return");
    require(buffer.slots >= 1, "buffer without memory");
  }

  void check_access(const Access& access) const {
    require(access.buffer < loops_.buffers.size(), "access to no buffer");
    const Buffer& buffer = loops_.buffers[access.buffer];
    require(access.flat || access.index.size() == buffer.shape.size(),
            fmt::format("access to '{}' has {} indices for rank {}", buffer.name, access.index.size(),
                        buffer.shape.size()));
    for (const Expr& expr : access.index) check_expr(expr, "an index");
    if (access.flat) check_expr(*access.flat, "an index");
  }

  void check_flag(const Access& access) const {
    check_access(access);
    require(loops_.buffers[access.buffer].dtype == DType::Bool, "a condition is no boolean");
  }

  void check_stmt(const Nest& nest) {
    bool reducing = false;
    for (const Axis& axis : nest.axes) {
      check_expr(axis.extent, "an extent");
      require(!defined_[axis.variable], "an axis variable is in use already");
      require(axis.kind == AxisKind::Reduction || !reducing, "a parallel axis follows a reduction axis");
      reducing = axis.kind == AxisKind::Reduction;
      require(!axis.descending || nest.order == Order::Sequential, "a descending axis in a free nest");
    }
    require(reducing == !nest.reductions.empty(), "reduction axes without a reduction, or the reverse");
    for (const Axis& axis : nest.axes) defined_[axis.variable] = true;
    std::vector<DType> types;
    for (const Instr& instr : nest.body) {
      for (int operand : instr.src)
        require(operand >= 0 && size_t(operand) < types.size(), "a register before its value");
      if (instr.code == Code::Load || instr.code == Code::Store) {
        check_access(instr.access);
        const DType stored = loops_.buffers[instr.access.buffer].dtype;
        require(instr.dtype == stored,
                fmt::format("access to '{}' has another dtype", loops_.buffers[instr.access.buffer].name));
      }
      if (instr.code == Code::Index) check_expr(instr.expr, "an index value");
      if (instr.code == Code::Element) {
        require(int(instr.src.size()) == info(instr.op).arity,
                fmt::format("'{}' has a wrong arity", info(instr.op).name));
      }
      if (instr.code == Code::Store) {
        require(instr.src.size() == 1 && types[instr.src[0]] == instr.dtype, "a store of another dtype");
        require(nest.reductions.empty(), "a store beside a reduction");
        continue;
      }
      require(instr.dst == int(types.size()), "registers are not numbered in order");
      types.push_back(instr.dtype);
    }
    for (const Reduction& reduction : nest.reductions) {
      require(reduction.value >= 0 && size_t(reduction.value) < types.size(), "a reduction of no register");
      require(types[reduction.value] == reduction.dtype, "a reduction of another dtype");
    }
    for (const Axis& axis : nest.axes) {
      if (axis.kind == AxisKind::Reduction) defined_[axis.variable] = false;
    }
    for (const Reduction& reduction : nest.reductions) check_access(reduction.target);
    for (const Axis& axis : nest.axes) defined_[axis.variable] = false;
  }
  void check_stmt(const For& loop) {
    check_expr(loop.lo, "a loop bound"), check_expr(loop.hi, "a loop bound"), check_expr(loop.step, "a loop step");
    require(!loop.step.is_constant(0), "a loop of step 0");
    require(!defined_[loop.variable], "a loop variable is in use already");
    defined_[loop.variable] = true;
    check_block(loop.body);
    defined_[loop.variable] = false;
  }
  void check_stmt(const While& loop) {
    check_block(loop.test);
    check_flag(loop.condition);
    check_block(loop.body);
  }
  void check_stmt(const If& branch) {
    if (!branch.condition) check_flag(branch.flag);
    check_block(branch.then_block);
    check_block(branch.else_block);
  }
  void check_stmt(const Define& define) {
    check_access(define.value);
    require(is_integer(loops_.buffers[define.value.buffer].dtype), "a symbol defined by no integer");
  }
  void check_stmt(const BindAll& all) {
    for (const Bind& bind : all.binds) {
      check_access(bind.target);
      require(loops_.buffers[bind.pointer].place == Place::Pointer, "a bind of no pointer");
      require(loops_.buffers[bind.pointer].dtype == loops_.buffers[bind.target.buffer].dtype,
              "a bind to another dtype");
    }
  }
  void check_stmt(const Make& make) { require(make.buffer < loops_.buffers.size(), "no buffer to make"); }
  void check_stmt(const Check& check) {
    if (!check.condition) check_flag(check.flag);
    require(check.values.size() <= 4, "more than four values in a check");
    for (const Expr& expr : check.values) check_expr(expr, "a check");
  }

  void check_block(const Block& block) {
    for (const Stmt& stmt : block) std::visit([&](const auto& node) { check_stmt(node); }, stmt.node);
  }

  const Loops& loops_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Loops& loops) { Verifier(loops).run(); }

}  // namespace ferrule::loops
