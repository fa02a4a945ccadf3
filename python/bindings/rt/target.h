// What a Python object that can be called points to: a handle, and per argument what only Python knows (interned names,
// defaults, fixed values, dtypes as NumPy has them).
#pragma once

#include <memory>
#include <vector>

#include "call/handle.h"
#include "numpy_api.h"

namespace ferrule::python {

// What the extent of an axis does: the steps of most arrays (call/plan.h) in a shape that a call reads at once.
struct AxisTarget {
  uint16_t defines = 0;  // symbol; one that nobody reads where the axis defines none
  uint16_t equals = 0;   // symbol; the defined one where the axis must equal none
};

// Everything that a call looks at for an argument, in one cache line.
struct alignas(64) ArgTarget {
  static constexpr int kAxes = 4;
  static constexpr int kNever = ~0;  // no array has these flags

  PyArray_Descr* descr = nullptr;  // arrays: the descriptor that most arrays of the dtype share
  PyObject* name = nullptr;        // interned; null for hidden arguments
  int straight_flags = kNever;     // with these NumPy flags every layout test passes and `axes` says the rest
  int sufficient_flags = kNever;   // the same for arrays whose steps `axes` cannot hold
  int32_t rank = 0;
  int32_t item = 0;
  AxisTarget axes[kAxes];
  PyObject* fallback = nullptr;  // when the argument is not given; null: it is required
  PyObject* fixed = nullptr;     // FR_ARG_STATIC: the value of this specialisation
};
static_assert(sizeof(ArgTarget) == 64);

// A name that the program read while it was captured: a key of a dict (a module's globals), a closure cell, or an
// attribute in a slot of an object without a dict.
struct Variable {
  PyObject* container = nullptr;  // a dict, a cell or an object with slots
  PyObject* key = nullptr;        // null for a cell
  bool slot = false;
};

struct GlobalGuard {
  Variable variable;
  PyObject* expected = nullptr;  // null: the key must not be there
  mutable uint64_t seen = 0;     // version of the dict in which the variable was the expected object; 0: none
};

struct HiddenArray {
  int32_t arg = 0;
  Variable variable;
};

enum class ReleaseGil : uint8_t { Auto, Always, Never };

// An axis as quick_call.h reads it: its extent is a symbol's value, and equal to that of an axis of an argument before
// it, or of itself. Compared with the array: a symbol that was just stored would be read from memory too early or late.
struct QuickAxis {
  uint16_t defines;
  uint8_t arg, axis;
};

struct QuickArg {
  enum class Kind : uint8_t { Array, Fixed, Float64, Bool, Int64, Int32 };
  const void* expected = nullptr;  // borrowed; Array: the descriptor, Fixed: the very object
  int32_t flags = 0;               // ArgTarget::straight_flags
  int16_t item = 0;
  int8_t rank = -1;  // -1: no array
  Kind kind = Kind::Array;
  QuickAxis axes[ArgTarget::kAxes] = {};
  int32_t symbol = -1;  // of an integer
};

// What quick_call.h reads of a target and its plan, side by side.
struct QuickTarget {
  Py_ssize_t n_args = -1;  // -1: no call is quick
  std::vector<QuickArg> args;
  PyTypeObject* array_type = nullptr;
  const PairPlan *pairs = nullptr, *pairs_end = nullptr;
  const int32_t *work = nullptr, *work_end = nullptr;  // symbols that are at most `largest` in a short run
  uint64_t largest = 0;
  const FrModule* module = nullptr;
  FrRun run = nullptr;
};

// Owns its references. `exact`: scalars must have exactly the declared type, as specialisations of an undecorated
// signature need it; otherwise they are converted by the rules for declared scalars.
struct Target {
  std::shared_ptr<Handle> handle;
  std::vector<ArgTarget> args;
  std::vector<PyObject*> symbol_names;  // interned; null for symbols that cannot be given by keyword
  std::vector<PyArray_Descr*> return_descrs;
  std::vector<PyObject*> return_names;  // interned; none where the results have no names
  std::vector<GlobalGuard> globals;
  std::vector<HiddenArray> hidden;
  ReleaseGil release_gil = ReleaseGil::Auto;
  bool error_check = true;  // a status of the author's function is an error
  bool exact = false;
  bool overlap_only = false;  // slow but right for overlapping arguments: others have a faster specialisation
  bool has_hidden = false;
  PyObject* finish = nullptr;  // makes what the program returns from the tuple of its results; null: nothing to do
  Py_ssize_t n_positional_only = 0;  // leading arguments that cannot be given by name

  Py_ssize_t n_by_position = -1;  // all arguments, where all may come by position; else -1
  // The names of a call that had them in declared order, a constant of the calling code: seeing it again is enough.
  mutable PyObject* seen_names = nullptr;
  mutable Py_ssize_t seen_nargs = 0;

  QuickTarget quick;

  const CallPlan* cached_plan = nullptr;  // of the handle
  // Calls and other uses that Python code can see unfinished: see InUse. Quick calls are none, they run no Python code
  // and keep the interpreter's lock.
  mutable int64_t uses = 0;
  const FrHost* host = nullptr;
  PyTypeObject* array_type = nullptr;  // numpy.ndarray, without the way through NumPy's table

  const CallPlan& plan() const { return *cached_plan; }
};

// Something that reads the target's plan or runs its module while Python code may run, in another thread or in this
// one. Under the interpreter's lock, at both ends.
class InUse {
 public:
  explicit InUse(const Target& target) : target_(target) { ++target_.uses; }
  ~InUse() { --target_.uses; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  const Target& target_;
};

// Fills a target for `handle`: names, descriptors, and literals of the descriptor as defaults and fixed values. False
// with a Python error set.
bool fill_target(Target& target, std::shared_ptr<Handle> handle);

// Replaces defaults or fixed values by name from dicts (null: none); reads `globals`, a sequence of (dict, cell or
// object with slots, key, expected), without `expected` where the key must not be there, and `hidden`, a sequence of
// (dict or cell, key) in the order of the hidden arguments (null: none). False with a Python error set.
bool specialise_target(Target& target, PyObject* statics, PyObject* defaults, PyObject* globals, PyObject* hidden);

// For the garbage collector; the handle and the uses stay.
int traverse_target(const Target& target, visitproc visit, void* arg);
void clear_target(Target& target);

}  // namespace ferrule::python
