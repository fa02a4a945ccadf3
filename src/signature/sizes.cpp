#include "signature/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace ferrule {
namespace {

// The parser descends by each sign and parenthesis.
constexpr size_t kLongestSize = 4096;

// An extent or stride of an argument, and the expression that it must equal.
struct Equation {
  int argument, axis;
  bool stride;
  Expr size;
};

// coefficients * unknowns = combination * (extents - rests), over the unknowns and equations of a Solver.
struct Row {
  std::vector<int64_t> coefficients, combination;
};

void divide_by_common_factor(Row& row) {
  int64_t factor = 0;
  for (const auto* part : {&row.coefficients, &row.combination})
    for (const int64_t value : *part) factor = std::gcd(factor, value);
  if (factor <= 1) return;
  for (auto* part : {&row.coefficients, &row.combination})
    for (int64_t& value : *part) value /= factor;
}

// row = row * a - other * b; false where that leaves the 64 bits.
bool combine(Row& row, int64_t a, const Row& other, int64_t b) {
  const auto part = [&](std::vector<int64_t>& mine, const std::vector<int64_t>& theirs) {
    for (size_t i = 0; i < mine.size(); ++i) {
      int64_t left = 0, right = 0;
      if (__builtin_mul_overflow(mine[i], a, &left) || __builtin_mul_overflow(theirs[i], b, &right) ||
          __builtin_sub_overflow(left, right, &mine[i]))
        return false;
    }
    return true;
  };
  if (!part(row.coefficients, other.coefficients) || !part(row.combination, other.combination)) return false;
  divide_by_common_factor(row);
  return true;
}

class Solver {
 public:
  explicit Solver(const Signature& signature, Sizes& sizes) : signature_(signature), sizes_(sizes) {
    known_.assign(signature.symbols.size(), false);
  }

  void solve() {
    take_given();
    for (const bool optional : {false, true}) {
      collect_equations(optional);
      take_plain();
      while (take_one_unknown()) {
      }
      take_joint();
    }
    for (SymbolId s = 0; s < known_.size(); ++s)
      if (!known_[s]) know({.symbol = s, .kind = SizeSource::Kind::Keyword});
  }

 private:
  void know(SizeSource source) {
    known_[source.symbol] = true;
    sizes_.sources.push_back(std::move(source));
  }

  void take_given() {
    for (SymbolId s = 0; s < known_.size(); ++s) {
      const std::string& name = signature_.symbols[s].name;
      if (const SignatureArgument* argument = signature_.argument(name)) {
        const auto index = static_cast<int>(argument - signature_.arguments.data());
        know({.symbol = s, .kind = SizeSource::Kind::Scalar, .argument = index});
      } else if (signature_.arg_names && std::find(signature_.arg_names->begin(), signature_.arg_names->end(), name) !=
                                             signature_.arg_names->end()) {
        know({.symbol = s, .kind = SizeSource::Kind::Position});
      }
    }
  }

  // Extents before strides: the first that tells a symbol is its source.
  void collect_equations(bool optional) {
    for (const bool stride : {false, true}) {
      for (size_t a = 0; a < signature_.arguments.size(); ++a) {
        if (signature_.arguments[a].optional != optional) continue;
        const std::vector<Expr>& sizes = stride ? sizes_.strides[a] : sizes_.shapes[a];
        for (size_t axis = 0; axis < sizes.size(); ++axis)
          equations_.push_back({static_cast<int>(a), static_cast<int>(axis), stride, sizes[axis]});
      }
    }
  }

  std::vector<SymbolId> unknown_in(const Expr& size) const {
    std::vector<SymbolId> unknown;
    for (const SymbolId s : size.symbols())
      if (!known_[s]) unknown.push_back(s);
    return unknown;
  }

  void take_plain() {
    for (const Equation& e : equations_) {
      const std::vector<SymbolId> unknown = unknown_in(e.size);
      if (unknown.size() == 1 && e.size == Expr::symbol(unknown[0])) know(from(e, unknown[0], 1, 0));
    }
  }

  static SizeSource from(const Equation& e, SymbolId symbol, int64_t coefficient, int64_t offset) {
    return {.symbol = symbol,
            .kind = e.stride ? SizeSource::Kind::Stride : SizeSource::Kind::Extent,
            .argument = e.argument,
            .axis = e.axis,
            .coefficient = coefficient,
            .offset = offset};
  }

  bool take_one_unknown() {
    for (const Equation& e : equations_) {
      const std::vector<SymbolId> unknown = unknown_in(e.size);
      if (unknown.size() != 1) continue;
      const auto parts = e.size.split(unknown[0]);
      if (!parts || parts->first.is_constant(0)) continue;
      const auto& [coefficient, rest] = *parts;
      if (coefficient.constant() && rest.constant()) {
        know(from(e, unknown[0], *coefficient.constant(), *rest.constant()));
        return true;
      }
      if (e.stride) continue;
      know({.symbol = unknown[0],
            .kind = SizeSource::Kind::Joint,
            .value = floordiv(extent_symbol(e) - rest, coefficient)});
      return true;
    }
    return false;
  }

  Expr extent_symbol(const Equation& e) {
    for (const AxisSymbol& known : sizes_.extents)
      if (known.argument == e.argument && known.axis == e.axis) return Expr::symbol(known.symbol);
    const std::string& name = signature_.arguments[static_cast<size_t>(e.argument)].name;
    const SymbolId id = sizes_.symbols.add(fmt::format("{}.shape[{}]", name, e.axis), SymbolKind::Extent, true);
    sizes_.extents.push_back({id, e.argument, e.axis});
    return Expr::symbol(id);
  }

  // Gaussian elimination without fractions over what is linear in the unknowns that are left.
  void take_joint() {
    std::vector<SymbolId> unknowns;
    for (SymbolId s = 0; s < known_.size(); ++s)
      if (!known_[s]) unknowns.push_back(s);
    std::vector<Row> rows;
    std::vector<const Equation*> used;
    std::vector<Expr> rests;
    for (const Equation& e : equations_) {
      std::vector<int64_t> coefficients(unknowns.size());
      Expr rest = e.size;
      bool linear = !e.stride;
      for (size_t u = 0; linear && u < unknowns.size(); ++u) {
        const auto parts = rest.split(unknowns[u]);
        linear = parts && parts->first.constant();
        if (linear) coefficients[u] = *parts->first.constant(), rest = parts->second;
      }
      const bool useful = std::any_of(coefficients.begin(), coefficients.end(), [](int64_t c) { return c != 0; });
      if (!linear || !useful) continue;
      used.push_back(&e);
      rests.push_back(rest);
      rows.push_back({std::move(coefficients), {}});
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].combination.assign(rows.size(), 0);
      rows[i].combination[i] = 1;
    }
    eliminate(rows, unknowns.size());
    for (const Row& row : rows) {
      const auto nonzero = [](int64_t c) { return c != 0; };
      const auto first = std::find_if(row.coefficients.begin(), row.coefficients.end(), nonzero);
      if (first == row.coefficients.end() || std::any_of(first + 1, row.coefficients.end(), nonzero)) continue;
      Expr sum = 0;
      for (size_t i = 0; i < used.size(); ++i)
        if (row.combination[i] != 0) sum = sum + Expr(row.combination[i]) * (extent_symbol(*used[i]) - rests[i]);
      if (*first < 0) sum = -sum;
      const SymbolId symbol = unknowns[static_cast<size_t>(first - row.coefficients.begin())];
      know({.symbol = symbol, .kind = SizeSource::Kind::Joint, .value = floordiv(sum, Expr(std::abs(*first)))});
    }
  }

  static void eliminate(std::vector<Row>& rows, size_t n_unknowns) {
    size_t done = 0;
    for (size_t u = 0; u < n_unknowns && done < rows.size(); ++u) {
      const auto pivot = std::find_if(rows.begin() + static_cast<ptrdiff_t>(done), rows.end(),
                                      [u](const Row& row) { return row.coefficients[u] != 0; });
      if (pivot == rows.end()) continue;
      std::swap(rows[done], *pivot);
      for (size_t i = 0; i < rows.size(); ++i) {
        if (i == done || rows[i].coefficients[u] == 0) continue;
        if (!combine(rows[i], rows[done].coefficients[u], rows[done], rows[i].coefficients[u]))
          throw user_error("The sizes of the signature have factors too large to be solved together; use smaller ones.",
                           Builtin::Value);
      }
      ++done;
    }
  }

  const Signature& signature_;
  Sizes& sizes_;
  std::vector<bool> known_;
  std::vector<Equation> equations_;
};

}  // namespace

std::optional<std::pair<int, int>> stride_parameter(const Signature& signature, const std::string& text) {
  constexpr std::string_view kWord = ".strides[";
  const size_t dot = text.find(kWord);
  if (dot == std::string::npos || text.back() != ']') return std::nullopt;
  const SignatureArgument* a = signature.argument(text.substr(0, dot));
  const size_t first = dot + kWord.size();
  const std::string axis = text.substr(first, text.size() - first - 1);
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (a == nullptr || axis.empty() || axis.size() > 2 || !std::all_of(axis.begin(), axis.end(), digit))
    return std::nullopt;
  const int value = std::stoi(axis);
  if (value >= static_cast<int>(a->shape.size())) return std::nullopt;
  return std::pair(static_cast<int>(a - signature.arguments.data()), value);
}

Expr Sizes::stride_of(const Signature& signature, int argument, int axis) const {
  const auto a = static_cast<size_t>(argument), k = static_cast<size_t>(axis);
  if (!strides[a].empty()) return strides[a][k];
  for (const AxisSymbol& known : free_strides)
    if (known.argument == argument && known.axis == axis) return Expr::symbol(known.symbol);
  const std::vector<Expr>& shape = shapes[a];
  const bool f = signature.arguments[a].order == Order::F;
  return f ? product({shape.data(), k}) : product({shape.data() + k + 1, shape.size() - k - 1});
}

Sizes sizes_of(const Signature& signature) {
  Sizes sizes;
  for (const SignatureSymbol& symbol : signature.symbols)
    sizes.symbols.add(symbol.name, SymbolKind::Extent, symbol.nonnegative);
  const auto read = [&](const std::string& owner, const std::vector<std::string>& texts) {
    std::vector<Expr> exprs;
    for (const std::string& text : texts) {
      if (text.size() > kLongestSize)
        throw user_error(fmt::format("'{}': a size of {} characters is too long; at most {} are read.", owner,
                                     text.size(), kLongestSize),
                         Builtin::Value);
      try {
        exprs.push_back(parse_expr(text, [&](std::string_view name) { return sizes.symbols.find(name); }));
      } catch (const Error& error) {
        throw user_error(fmt::format("'{}': the size '{}' cannot be read: {}", owner, text, error.what()),
                         Builtin::Value);
      }
    }
    return exprs;
  };
  for (const SignatureArgument& a : signature.arguments) {
    sizes.shapes.push_back(read(a.name, a.shape));
    sizes.strides.push_back(read(a.name, a.strides));
    sizes.callback_shapes.emplace_back();
    for (const SignatureArgument& p : a.parameters) sizes.callback_shapes.back().push_back(read(p.name, p.shape));
  }
  for (const SignatureReturn& r : signature.returns) sizes.return_shapes.push_back(read(r.name, r.shape));
  for (const SignatureWorkspace& w : signature.workspaces)
    sizes.workspace_bytes.push_back(read(w.name, {w.bytes}).front());
  Solver(signature, sizes).solve();
  for (const std::string& text : signature.run.parameters) {
    const auto stride = stride_parameter(signature, text);
    if (!stride) continue;
    const auto [argument, axis] = *stride;
    const SignatureArgument& a = signature.arguments[static_cast<size_t>(argument)];
    const bool is_free = a.strides.empty() && (a.order == Order::Inner || a.order == Order::Any);
    if (is_free && !sizes.symbols.find(text))
      sizes.free_strides.push_back({sizes.symbols.add(text, SymbolKind::Stride, false), argument, axis});
  }
  return sizes;
}

}  // namespace ferrule
