// Python's view of index/: size expressions with operators, conditions, symbols and facts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "index/expr.h"
#include "index/facts.h"
#include "index/range.h"

namespace nb = nanobind;

using namespace ferrule;  // NOLINT: this file is nothing but names of the library

namespace {

// Without a table, symbols print by number.
SymbolNames names_of(const Symbols* symbols) {
  if (symbols) return symbols->names();
  return [](SymbolId id) { return std::string("$").append(std::to_string(id)); };
}

Expr parse(std::string_view text, const Symbols& symbols) {
  return parse_expr(text, [&](std::string_view name) { return symbols.find(name); });
}

// Integers have overloads of their own: an implicit conversion would make a Python object first.
template <typename Function>
void bind_operator(nb::class_<Expr>& expr, const char* name, const char* reflected, Function function) {
  expr.def(
          name, [function](const Expr& a, const Expr& b) { return function(a, b); }, nb::is_operator())
      .def(
          name, [function](const Expr& a, int64_t b) { return function(a, Expr(b)); }, nb::is_operator())
      .def(reflected, [function](const Expr& b, int64_t a) { return function(Expr(a), b); }, nb::is_operator());
}

void bind_expr(nb::module_& m) {
  nb::class_<Expr> expr(m, "Expr", "An integer expression over symbols, canonical and immutable.");
  expr.def(nb::init<int64_t>(), nb::arg("value") = 0)
      .def_static("symbol", &Expr::symbol, nb::arg("id"))
      .def_static("parse", &parse, nb::arg("text"), nb::arg("symbols"))
      .def_prop_ro("constant", &Expr::constant, "The value of a constant, else None.")
      .def_prop_ro("as_symbol", &Expr::as_symbol, "The id of the symbol that this is, else None.")
      .def("symbols", &Expr::symbols)
      .def("uses", &Expr::uses, nb::arg("id"))
      .def("split", &Expr::split, nb::arg("id"), "(coefficient, rest) where affine in the symbol, else None.")
      .def("substitute", nb::overload_cast<SymbolId, const Expr&>(&Expr::substitute, nb::const_), nb::arg("id"),
           nb::arg("value"))
      .def(
          "evaluate", [](const Expr& e, const std::vector<int64_t>& values) { return e.evaluate(values); },
          nb::arg("values"), "Value for symbol values in the order of their ids.")
      .def(
          "to_string", [](const Expr& e, const Symbols* symbols) { return to_string(e, names_of(symbols)); },
          nb::arg("symbols") = nb::none())
      .def("__repr__", [](const Expr& e) { return to_string(e, names_of(nullptr)); })
      .def("__neg__", [](const Expr& e) { return -e; })
      .def("__pos__", [](const Expr& e) { return e; })
      .def(
          "__eq__", [](const Expr& a, const Expr& b) { return a == b; }, nb::is_operator(),
          "Whether both are one expression; nothing is proved.")
      .def(
          "__ne__", [](const Expr& a, const Expr& b) { return !(a == b); }, nb::is_operator())
      .def("__hash__",
           [](const Expr& e) {
             // Constants compare equal to Python ints and so must hash like them.
             if (auto value = e.constant()) return nb::hash(nb::int_(*value));
             Py_hash_t hash = static_cast<Py_hash_t>(e.hash());
             return hash == -1 ? Py_hash_t{-2} : hash;
           })
      .def("__bool__",
           [](const Expr& e) {
             if (auto value = e.constant()) return *value != 0;
             throw nb::type_error("The truth of a symbolic size is not known; prove or guard a condition instead.");
           })
      .def("__index__", [](const Expr& e) {
        if (auto value = e.constant()) return *value;
        throw nb::type_error("A symbolic size has no value at compile time.");
      });
  bind_operator(expr, "__add__", "__radd__", [](const Expr& a, const Expr& b) { return a + b; });
  bind_operator(expr, "__sub__", "__rsub__", [](const Expr& a, const Expr& b) { return a - b; });
  bind_operator(expr, "__mul__", "__rmul__", [](const Expr& a, const Expr& b) { return a * b; });
  bind_operator(expr, "__floordiv__", "__rfloordiv__", [](const Expr& a, const Expr& b) { return floordiv(a, b); });
  bind_operator(expr, "__mod__", "__rmod__", [](const Expr& a, const Expr& b) { return mod(a, b); });
  bind_operator(expr, "__pow__", "__rpow__", [](const Expr& a, const Expr& b) { return pow(a, b); });
  nb::implicitly_convertible<int64_t, Expr>();

  m.def("min", [](const Expr& a, const Expr& b) { return min(a, b); }, nb::arg("a"), nb::arg("b"));
  m.def("max", [](const Expr& a, const Expr& b) { return max(a, b); }, nb::arg("a"), nb::arg("b"));
  m.def("product", [](const std::vector<Expr>& factors) { return product(factors); }, nb::arg("factors"));
}

void bind_condition(nb::module_& m) {
  nb::enum_<Relation>(m, "Relation")
      .value("Eq", Relation::Eq)
      .value("Ne", Relation::Ne)
      .value("Lt", Relation::Lt)
      .value("Le", Relation::Le);
  nb::class_<Condition>(m, "Condition", "left `relation` right over the integers.")
      .def(
          "__init__",
          [](Condition* self, Relation relation, const Expr& left, const Expr& right) {
            new (self) Condition{relation, left, right};
          },
          nb::arg("relation"), nb::arg("left"), nb::arg("right"))
      .def_ro("relation", &Condition::relation)
      .def_ro("left", &Condition::left)
      .def_ro("right", &Condition::right)
      .def("negate", &negate)
      .def(
          "evaluate", [](const Condition& c, const std::vector<int64_t>& values) { return evaluate(c, values); },
          nb::arg("values"))
      .def(
          "to_string", [](const Condition& c, const Symbols* symbols) { return to_string(c, names_of(symbols)); },
          nb::arg("symbols") = nb::none())
      .def("__repr__", [](const Condition& c) { return to_string(c, names_of(nullptr)); })
      .def(
          "__eq__", [](const Condition& a, const Condition& b) { return a == b; }, nb::is_operator())
      .def("__hash__", [](const Condition& c) {
        return nb::hash(nb::make_tuple(static_cast<int>(c.relation), c.left.hash(), c.right.hash()));
      });
}

void bind_facts(nb::module_& m) {
  nb::enum_<SymbolKind>(m, "SymbolKind")
      .value("Extent", SymbolKind::Extent)
      .value("Stride", SymbolKind::Stride)
      .value("Scalar", SymbolKind::Scalar)
      .value("Loop", SymbolKind::Loop)
      .value("Opaque", SymbolKind::Opaque);
  nb::class_<Symbols>(m, "Symbols", "The symbols of one program, in order of creation.")
      .def(nb::init<>())
      .def("add", &Symbols::add, nb::arg("name"), nb::arg("kind"), nb::arg("nonnegative") = false,
           "The new symbol's id; a taken name gets a numeric suffix.")
      .def("find", &Symbols::find, nb::arg("name"))
      .def("__len__", &Symbols::size)
      .def(
          "name", [](const Symbols& s, SymbolId id) { return s.at(id).name; }, nb::arg("id"))
      .def(
          "kind", [](const Symbols& s, SymbolId id) { return s.at(id).kind; }, nb::arg("id"))
      .def("nonnegative", [](const Symbols& s, SymbolId id) { return s.at(id).nonnegative; }, nb::arg("id"));
  nb::class_<Facts>(m, "Facts", "Equalities, inequalities and loop bounds in nested scopes, and proofs from them.")
      .def(
          "__init__", [](Facts* self, const Symbols& symbols) { new (self) Facts(&symbols); }, nb::arg("symbols"),
          nb::keep_alive<1, 2>())
      .def("push", &Facts::push)
      .def("pop", &Facts::pop)
      .def("assume", &Facts::assume, nb::arg("condition"))
      .def("assume_loop", &Facts::assume_loop, nb::arg("variable"), nb::arg("lo"), nb::arg("hi"))
      .def("canonical", &Facts::canonical, nb::arg("expr"))
      .def("simplify", &Facts::simplify, nb::arg("expr"))
      .def("prove", &Facts::prove, nb::arg("condition"), "True, False (the negation holds) or None (not known).")
      .def(
          "prove",
          [](const Facts& facts, Relation relation, const Expr& left, const Expr& right) {
            return facts.prove({relation, left, right});
          },
          nb::arg("relation"), nb::arg("left"), nb::arg("right"))
      .def(
          "fits_int64",
          [](const Facts& facts, const Expr& expr, const Symbols& symbols) {
            const Int64Fit fit = fit_int64(expr, facts, symbols);
            return nb::make_tuple(fit.low, fit.high);
          },
          nb::arg("expr"), nb::arg("symbols"),
          "Whether the expression is certain to be no less than the smallest, and no more than the largest int64.")
      .def("prove_nonnegative", &Facts::prove_nonnegative, nb::arg("expr"))
      .def("prove_equal", &Facts::prove_equal, nb::arg("a"), nb::arg("b"))
      .def("upper_bound", &Facts::upper_bound, nb::arg("expr"))
      .def("lower_bound", &Facts::lower_bound, nb::arg("expr"));
}

}  // namespace

void bind_index(nb::module_& m) {
  bind_expr(m);
  bind_condition(m);
  bind_facts(m);
}
