// The reference evaluator on NumPy arrays: the oracle of differential tests.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/error_code.h"
#include "convert.h"
#include "program/evaluate.h"
#include "program/evaluate_call.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace ferrule;
using namespace ferrule::python;

void bind_evaluate(nb::module_& m);

namespace {

// A buffer of the buffer protocol, released at the end.
class Borrowed {
 public:
  Borrowed(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  Borrowed(const Borrowed&) = delete;
  ~Borrowed() { PyBuffer_Release(&view_); }
  const Py_buffer& view() const { return view_; }

 private:
  Py_buffer view_{};
};

nb::object numpy(const char* name) { return nb::module_::import_("numpy").attr(name); }

EvalArray to_array(const Argument& argument, nb::handle object, const Borrowed& borrowed) {
  const std::string dtype = nb::cast<std::string>(object.attr("dtype").attr("name"));
  if (dtype != name_of(argument.dtype))
    throw user_error(
        fmt::format("Argument '{}' must have dtype {}, got {}.", argument.name, name_of(argument.dtype), dtype),
        Builtin::Type);
  const Py_buffer& view = borrowed.view();
  EvalArray array{.data = view.buf};
  for (int axis = 0; axis < view.ndim; ++axis) {
    if (view.strides[axis] % view.itemsize != 0)
      throw user_error(fmt::format("The strides of argument '{}' are no multiples of its items.", argument.name));
    array.shape.push_back(view.shape[axis]);
    array.strides.push_back(view.strides[axis] / view.itemsize);
  }
  return array;
}

uint64_t to_bits(const Argument& argument, nb::handle value) {
  const nb::object bytes =
      numpy("asarray")(value).attr("astype")(nb::cast(name_of(argument.dtype).data())).attr("tobytes")();
  uint64_t bits = 0;
  std::memcpy(&bits, PyBytes_AsString(bytes.ptr()), static_cast<size_t>(item_size(argument.dtype)));
  return bits;
}

// A view of an argument's memory that keeps the argument alive.
nb::object view_of(const EvalResult& r, nb::handle argument, const EvalArray& array) {
  const int size = item_size(r.dtype);
  nb::list shape, strides;
  for (const int64_t extent : r.shape) shape.append(extent);
  for (const int64_t stride : r.strides) strides.append(stride * size);
  nb::dict interface;
  interface["version"] = 3;
  interface["typestr"] = numpy("dtype")(name_of(r.dtype).data()).attr("str");
  interface["shape"] = nb::tuple(shape);
  interface["strides"] = nb::tuple(strides);
  const auto address = reinterpret_cast<uintptr_t>(array.data) + static_cast<uintptr_t>(r.offset * size);
  interface["data"] = nb::make_tuple(address, !nb::cast<bool>(argument.attr("flags").attr("writeable")));
  return numpy("asarray")(
      nb::module_::import_("types").attr("SimpleNamespace")("__array_interface__"_a = interface, "owner"_a = argument));
}

nb::object to_python(const Program& program, const Result& declared, const EvalResult& r, nb::handle arguments,
                     const std::vector<EvalArray>& arrays) {
  if (declared.kind == ResultKind::None) return nb::none();
  if (declared.kind == ResultKind::Argument) return nb::borrow(arguments[r.argument]);
  if (r.is_view) return view_of(r, nb::object(arguments[r.argument]), arrays[static_cast<size_t>(r.argument)]);
  const ValueType& type = program.type(declared.value);
  nb::list shape;
  for (const int64_t extent : r.shape) shape.append(extent);
  nb::object flat = numpy("frombuffer")(nb::bytearray(r.bytes.data(), r.bytes.size()), name_of(r.dtype).data());
  if (type.kind == ValueKind::Array) return flat.attr("reshape")(nb::tuple(shape));
  nb::object scalar = flat[0];
  return type.weak ? scalar.attr("item")() : scalar;
}

Error trap_error(const Program& program, const EvalTrap& trap) {
  std::string where;
  if (trap.site >= 0 && trap.site < static_cast<int>(program.sites.size())) {
    const Site& site = program.sites[trap.site];
    where = fmt::format(" at {}:{} {}", site.file, site.line, site.what);
  }
  const Builtin builtin = builtin_of_code(trap.code);
  if (trap.code == FR_ERR_MEMORY) return user_error("An array of the program does not fit into memory.", builtin);
  return user_error(fmt::format("A check of the program failed with code {}{}.", trap.code, where), builtin);
}

nb::list evaluate_for_python(const Program& program, nb::sequence arguments) {
  if (nb::len(arguments) != program.arguments.size())
    throw user_error(
        fmt::format("The program takes {} arguments, got {}.", program.arguments.size(), nb::len(arguments)),
        Builtin::Type);
  std::vector<EvalArray> arrays(program.arguments.size());
  std::vector<uint64_t> scalars(program.arguments.size());
  std::vector<std::unique_ptr<Borrowed>> borrowed;
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    const Argument& argument = program.arguments[i];
    const nb::object object = arguments[i];
    if (argument.kind == ArgumentKind::Scalar) scalars[i] = to_bits(argument, object);
    if (argument.kind != ArgumentKind::Array) continue;
    borrowed.push_back(
        std::make_unique<Borrowed>(object, argument.written ? PyBUF_STRIDES | PyBUF_WRITABLE : PyBUF_STRIDES));
    arrays[i] = to_array(argument, object, *borrowed.back());
  }
  const EvalOutcome outcome = evaluate(program, arrays, scalars);
  if (outcome.trap) throw trap_error(program, *outcome.trap);
  nb::list results;
  for (size_t i = 0; i < outcome.results.size(); ++i)
    results.append(to_python(program, program.results[i], outcome.results[i], arguments, arrays));
  return results;
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  m.attr("evaluator") = nb::capsule(reinterpret_cast<const void*>(&evaluate_call), "ferrule.evaluator");
  m.def("evaluate", &evaluate_for_python, "program"_a, "arguments"_a,
        "The results of a program on NumPy arrays and scalars, one for each of its arguments (None for static ones), "
        "by the "
        "reference evaluator. Written arrays are changed in place.");
}
