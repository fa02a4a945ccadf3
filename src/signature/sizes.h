// The symbols of a signature: the sizes as expressions over one table, and from which argument each symbol is read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index/expr.h"
#include "index/facts.h"
#include "signature/signature.h"

namespace ferrule {

// From where a call takes a symbol.
struct SizeSource {
  enum class Kind : uint8_t {
    Extent,    // argument `argument`, axis `axis`: its extent is coefficient * symbol + offset
    Stride,    // the same for its stride in elements
    Scalar,    // the value of the integer argument of this name
    Position,  // given like an argument, by position or name, and required
    Joint,     // `value` over the symbols that stand for extents; see Sizes::extents
    Keyword    // by keyword only, and required: nothing else tells it
  };
  SymbolId symbol = 0;
  Kind kind = Kind::Extent;
  int argument = -1, axis = 0;
  int64_t coefficient = 1, offset = 0;
  Expr value;
};

// An extent or a stride that is a symbol of its own: symbols are solved from several extents together, or the author's
// function takes the stride.
struct AxisSymbol {
  SymbolId symbol = 0;
  int argument = 0, axis = 0;
};

struct Sizes {
  Symbols symbols;                               // the signature's, in its order, then those of `extents`
  std::vector<std::vector<Expr>> shapes;         // of each argument; empty for scalars
  std::vector<std::vector<Expr>> strides;        // as declared
  std::vector<std::vector<Expr>> return_shapes;  // of each return
  std::vector<std::vector<std::vector<Expr>>> callback_shapes;  // of each parameter of each argument
  std::vector<Expr> workspace_bytes;                            // of each workspace
  std::vector<SizeSource> sources;  // one a symbol of the signature, in an order in which they can be read
  std::vector<AxisSymbol> extents, free_strides;

  // The stride of an array in elements: declared, that of its dense order, or the symbol of `free_strides`.
  Expr stride_of(const Signature& signature, int argument, int axis) const;
};

// The argument and axis that the text "x.strides[1]" means; nothing for another text, an argument that is no array or
// an axis that it does not have.
std::optional<std::pair<int, int>> stride_parameter(const Signature& signature, const std::string& text);

// Reads the sizes of a signature whose symbols are all declared. A symbol is taken from the first extent that it is,
// then from one that is linear in it alone, then from a stride, then from several extents together (Gaussian
// elimination over the rationals; whole numbers are checked at the call). Throws Error(User) as complete() does.
Sizes sizes_of(const Signature& signature);

}  // namespace ferrule
