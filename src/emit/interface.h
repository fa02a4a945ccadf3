// What a caller has to know of a program: the part of a descriptor that does not depend on how `run` is written. Made
// from Loops for compiled programs and from a Signature for source kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loops/loops.h"
#include "program/program.h"
#include "signature/signature.h"

namespace ferrule {

struct InterfaceArgument {
  std::string name;
  uint8_t kind = FR_ARG_ARRAY;  // FrArgKind
  DType dtype = DType::F64;
  bool weak = false, keyword_only = false, hidden = false, optional = false;
  bool read = true, written = false;
  Layout layout = Layout::C;
  int inner_axis = 0;
  std::vector<Expr> extents;  // Array
  std::vector<Expr> strides;  // Array of layout Inner or Any, in elements
  SymbolId symbol = kNone;    // Scalar: the symbol that is its value
  std::string literal;        // Python text of the default, of the fixed value for Static; empty: required
  Record record;              // elements of dtype Record
  std::vector<InterfaceArgument> parameters;  // Callback
  std::optional<DType> result;                // Callback
};

// Where a call takes a symbol from.
struct InterfaceSymbol {
  SymbolSource source;  // FR_SYMBOL_DERIVED: only its symbol and kind
  Expr derived;         // FR_SYMBOL_DERIVED: over symbols of earlier entries
};

struct InterfaceWorkspace {
  std::string name;
  Expr bytes;
  int64_t alignment = 64;
};

struct Interface {
  std::string name;
  Symbols symbols;
  std::vector<InterfaceSymbol> sources;
  std::vector<InterfaceArgument> arguments;
  std::vector<loops::Return> returns;
  std::vector<std::string> return_names;  // of each, or none
  std::vector<Record> return_records;     // of each, or none
  std::vector<Guard> guards;
  std::vector<loops::AliasPair> alias;  // pairs that the call must test; empty when alias_safe
  bool returns_tuple = false, alias_safe = false, bounds_check = true, strict_scalars = false;
  bool return_override = false, coerces = false, error_check = true;
  std::optional<bool> release_gil;
  Expr arena_bytes = 0;
  bool arena_for_alias = false;  // `run` needs no arena, arena_bytes is what `run_alias` needs
  Expr work = 0;
  bool stateless = true;
  std::vector<InterfaceWorkspace> workspaces;
  std::vector<SymbolId> persistent;
  std::vector<int32_t> user_args;  // words as in FrModule::user_args
  std::vector<std::pair<int64_t, std::string>> statuses;
};

// Of a compiled program; `alias_safe`, its second version, may be null.
Interface interface_of(const loops::Loops& loops, const loops::Loops* alias_safe, bool strict_scalars);

// Of a completed signature. Symbols that are given by position become integer arguments. A written array must be
// disjoint from all others unless the signature says that overlap does no harm.
Interface interface_of(const Signature& signature);

}  // namespace ferrule
