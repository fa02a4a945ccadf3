// Finished programs and the tables of operations for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "convert.h"
#include "program/program_text.h"
#include "program/promote.h"
#include "program/verify.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ferrule;
using namespace ferrule::python;

namespace {

const char* rule_name(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::Same:
      return "Same";
    case DTypeRule::SameNoBool:
      return "SameNoBool";
    case DTypeRule::Number:
      return "Number";
    case DTypeRule::Integer:
      return "Integer";
    case DTypeRule::TrueDivide:
      return "TrueDivide";
    case DTypeRule::FloatPower:
      return "FloatPower";
    case DTypeRule::Float:
      return "Float";
    case DTypeRule::FloatToI32:
      return "FloatToI32";
    case DTypeRule::Ldexp:
      return "Ldexp";
    case DTypeRule::Rounding:
      return "Rounding";
    case DTypeRule::Select:
      return "Select";
    case DTypeRule::Compare:
      return "Compare";
    case DTypeRule::Logical:
      return "Logical";
    case DTypeRule::Bitwise:
      return "Bitwise";
    case DTypeRule::Shift:
      return "Shift";
    case DTypeRule::BitCount:
      return "BitCount";
    case DTypeRule::Predicate:
      return "Predicate";
    case DTypeRule::FloatPredicate:
      return "FloatPredicate";
    case DTypeRule::Sum:
      return "Sum";
  }
  return "";
}

nb::list words(std::string_view text) {
  nb::list result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.append(nb::str(text.data(), end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

// (dtype, weak) pairs as promotion takes them.
std::vector<OperandType> to_operands(nb::handle operands) {
  std::vector<OperandType> result;
  for (nb::handle item : nb::iter(operands)) result.push_back({to_dtype(item[0]), nb::cast<bool>(item[1])});
  return result;
}

}  // namespace

void bind_tables(nb::module_& m) {
  nb::class_<ElementOpInfo>(m, "ElementOpInfo", "A row of the table of element-wise operations.")
      .def_prop_ro("op", [](const ElementOpInfo& row) { return static_cast<int>(row.op); })
      .def_ro("name", &ElementOpInfo::name)
      .def_ro("arity", &ElementOpInfo::arity)
      .def_prop_ro("rule", [](const ElementOpInfo& row) { return rule_name(row.rule); })
      .def_ro("cost", &ElementOpInfo::cost)
      .def_prop_ro("numpy", [](const ElementOpInfo& row) { return words(row.numpy); })
      .def_ro("doc", &ElementOpInfo::doc);
  nb::class_<ReduceOpInfo>(m, "ReduceOpInfo", "A row of the table of reductions.")
      .def_prop_ro("op", [](const ReduceOpInfo& row) { return static_cast<int>(row.op); })
      .def_ro("name", &ReduceOpInfo::name)
      .def_prop_ro("combine", [](const ReduceOpInfo& row) { return info(row.combine).name; })
      .def_prop_ro("rule", [](const ReduceOpInfo& row) { return rule_name(row.rule); })
      .def_prop_ro("has_identity", [](const ReduceOpInfo& row) { return row.identity != Identity::None; })
      .def_prop_ro("numpy", [](const ReduceOpInfo& row) { return words(row.numpy); })
      .def_ro("doc", &ReduceOpInfo::doc);
  m.def("element_ops", [] {
    nb::list rows;
    for (int i = 0; i < element_op_count(); ++i)
      rows.append(nb::cast(info(static_cast<ElementOp>(i)), nb::rv_policy::copy));
    return rows;
  });
  m.def("reduce_ops", [] {
    nb::list rows;
    for (int i = 0; i < reduce_op_count(); ++i)
      rows.append(nb::cast(info(static_cast<ReduceOp>(i)), nb::rv_policy::copy));
    return rows;
  });
  m.def("dtype", [](nb::handle name) { return to_dtype(name); }, "name"_a);
  m.def("dtype_name", [](nb::handle dtype) { return name_of(to_dtype(dtype)); }, "dtype"_a, "NumPy's name.");
  m.def("is_computable", [](nb::handle dtype) { return is_computable(to_dtype(dtype)); }, "dtype"_a);
  m.def(
      "promote",
      [](nb::handle operands) {
        const OperandType type = promote(to_operands(operands));
        return std::pair(name_of(type.dtype), type.weak);
      },
      "operands"_a, "(dtype, weak) of numpy.result_type of (dtype, weak) operands.");
  m.def(
      "infer",
      [](nb::handle op, nb::handle operands) {
        const OpTypes types = infer(to_element_op(op), to_operands(operands));
        nb::list compute;
        for (const DType dtype : types.operands) compute.append(nb::cast(name_of(dtype)));
        return nb::make_tuple(compute, name_of(types.result), types.weak);
      },
      "op"_a, "operands"_a, "(compute dtypes, result dtype, weak) of an element-wise operation.");
  m.def(
      "infer_reduction",
      [](nb::handle op, nb::handle dtype) { return name_of(infer(to_reduce_op(op), to_dtype(dtype))); }, "op"_a,
      "dtype"_a);
}

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program", "A finished program (IR 1).")
      .def_ro("name", &Program::name)
      .def_prop_ro("guards",
                   [](const Program& program) {
                     nb::list texts;
                     for (const Guard& guard : program.guards) texts.append(nb::cast(guard.text));
                     return texts;
                   })
      .def_prop_ro("sites",
                   [](const Program& program) {
                     nb::list sites;
                     for (const Site& site : program.sites)
                       sites.append(nb::make_tuple(site.file, site.line, site.function, site.what, site.caller));
                     return sites;
                   })
      .def_prop_ro("arguments",
                   [](const Program& program) {
                     nb::list arguments;
                     for (const Argument& argument : program.arguments) {
                       nb::dict entry;
                       entry["name"] = argument.name;
                       entry["kind"] = argument.kind == ArgumentKind::Array    ? "array"
                                       : argument.kind == ArgumentKind::Scalar ? "scalar"
                                                                               : "static";
                       entry["dtype"] = name_of(argument.dtype);
                       entry["weak"] = argument.weak;
                       entry["read"] = argument.read;
                       entry["written"] = argument.written;
                       entry["hidden"] = argument.hidden;
                       arguments.append(entry);
                     }
                     return arguments;
                   })
      .def(
          "print", [](const Program& program) { return print(program); }, "The text form, as in .fr files.")
      .def("__str__", [](const Program& program) { return print(program); })
      .def("verify", [](const Program& program) { verify(program); }, "InternalError naming the first broken rule.");
  m.def("parse_program", [](const std::string& text) { return parse_program(text); }, "text"_a);
}
