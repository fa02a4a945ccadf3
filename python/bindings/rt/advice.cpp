#include "advice.h"

#include <fmt/format.h>

#include "call/refuse.h"
#include "element_types.h"

namespace ferrule::python {
namespace {

std::string text_of_object(PyObject* text) {
  if (text == nullptr) {
    PyErr_Clear();  // an object whose own __str__ or __repr__ fails is still named by its type
    return "?";
  }
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  std::string result = utf8 != nullptr ? std::string(utf8, static_cast<size_t>(size)) : "?";
  if (utf8 == nullptr) PyErr_Clear();
  Py_DECREF(text);
  return result;
}

// Python refuses to write out the longest ints; null for anything else, with its error.
PyObject* repr_of_long_int(PyObject* object) {
  if (!PyErr_ExceptionMatches(PyExc_ValueError) || !PyLong_CheckExact(object)) return nullptr;
  PyErr_Clear();
  PyObject* bits = PyObject_CallMethod(object, "bit_length", nullptr);
  PyObject* text = bits != nullptr ? PyUnicode_FromFormat("an int of %S bits", bits) : nullptr;
  Py_XDECREF(bits);
  return text;
}

// What is written must reach the caller's own memory, which no conversion does.
constexpr const char* kWritten = "; the program writes it, so make an array of that dtype";

bool is_numeric(const PyArray_Descr* descr) {
  return PyTypeNum_ISNUMBER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num) || element_type_of(descr).has_value();
}

bool is_complex_object(PyObject* object) {
  return PyComplex_Check(object) || PyArray_IsScalar(object, ComplexFloating) ||
         (PyArray_Check(object) && PyArray_ISCOMPLEX(reinterpret_cast<PyArrayObject*>(object)));
}

// Whether Python's int() or float() would take it for what it is: a number, not a text of one.
bool is_number(PyObject* object) {
  if (PyArray_Check(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    return PyArray_ISNUMBER(array) || PyArray_ISBOOL(array);
  }
  if (PyArray_IsScalar(object, Generic)) return PyArray_IsScalar(object, Number) || PyArray_IsScalar(object, Bool);
  return PyNumber_Check(object) != 0;
}

// As PyType_GetName, which Python 3.10 lacks; no code of a metaclass runs.
std::string name_of_type(PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    return text_of_object(Py_NewRef(reinterpret_cast<PyHeapTypeObject*>(type)->ht_name));
  }
  const std::string_view name = type->tp_name;
  return std::string(name.substr(name.rfind('.') + 1));
}

const char* builtin_of(DType dtype) {
  if (dtype == DType::Bool) return "bool";
  if (is_integer(dtype)) return "int";
  return is_float(dtype) ? "float" : "complex";
}

}  // namespace

std::string kind_of_object(PyObject* object) {
  if (object == Py_None) return "None";
  const std::string name = name_of_type(Py_TYPE(object));
  const bool vowel = name.find_first_of("aeiouAEIOU") == 0 && !name.starts_with("uint");
  return (vowel || name == "ndarray" ? "an " : "a ") + name;
}

std::string described_object(PyObject* object) {
  if (!PyArray_Check(object)) return kind_of_object(object);
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  return fmt::format("{} of dtype {} and shape {}", kind_of_object(object), dtype_text(PyArray_DESCR(array)),
                     tuple_text(shape_of(array), PyArray_NDIM(array)));
}

std::string short_repr(PyObject* object) {
  PyObject* shown = PyObject_Repr(object);
  if (shown == nullptr) shown = repr_of_long_int(object);
  std::string text = text_of_object(shown);
  if (text.size() <= 80) return text;
  size_t end = 77;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not within a character
  return text.substr(0, end) + "...";
}

std::string number_repr(PyObject* object) {
  PyObject* number = nullptr;
  const bool shows_itself = PyLong_Check(object) || PyFloat_Check(object) || PyArray_IsScalar(object, Generic);
  if (!shows_itself) number = PyNumber_Index(object);
  PyErr_Clear();  // one that gave a number before and now does not is shown itself
  const std::string shown = short_repr(number != nullptr ? number : object);
  Py_XDECREF(number);
  return shown;
}

std::string number_text(DType dtype) {
  if (dtype == DType::Bool) return "a bool";
  const char* word = is_integer(dtype) ? "an integer" : is_float(dtype) ? "a real number" : "a complex number";
  return fmt::format("{} of type {}", word, name_of(dtype));
}

std::string array_text(const ArgPlan& arg) {
  if (arg.record == nullptr) return fmt::format("an array of dtype {}", name_of(arg.dtype));
  return "an array of structs with the fields " + fields_text(*arg.record);
}

std::string array_advice(const ArgPlan& arg, PyObject* object) {
  const char* name = arg.declared->name;
  if (PyCapsule_CheckExact(object)) return fmt::format("; pass ferrule.from_dlpack({})", name);
  const bool sequence = PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object);
  const bool scalar = PyArray_IsScalar(object, Generic) && arg.rank > 0;
  const bool converts = !PyType_Check(object) && !scalar && PyObject_HasAttrString(object, "__array__");
  if (!sequence && !converts) return "";
  if (arg.written) return kWritten;
  if (arg.record != nullptr) return fmt::format("; pass numpy.asarray({}, dtype) with a dtype of these fields", name);
  return fmt::format("; pass numpy.asarray({}, '{}')", name, name_of(arg.dtype));
}

std::string dtype_advice(const ArgPlan& arg, PyArray_Descr* descr) {
  std::string missing;
  if (PyObject* type = ml_class(arg.dtype, true))
    Py_DECREF(type);
  else if (arg.dtype == DType::BF16 || is_float8(arg.dtype))
    missing = "; its dtype comes from ml_dtypes, which is not installed";
  PyErr_Clear();  // the refusal is what the caller hears of
  if (!missing.empty()) return missing;
  if (arg.written) return kWritten;
  const bool loses = PyTypeNum_ISCOMPLEX(descr->type_num) && !is_complex(arg.dtype) && arg.dtype != DType::Object;
  if (!is_numeric(descr) || loses) return "";
  return fmt::format("; pass {}.astype('{}')", arg.declared->name, name_of(arg.dtype));
}

std::string mask_advice(const ArgPlan& arg) {
  return fmt::format("; pass {}.{}", arg.declared->name, arg.written ? "data" : "filled(value)");
}

std::string number_advice(DType dtype, const char* name, PyObject* object) {
  if (!is_number(object)) return "";
  if (PyArray_Check(object) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(object)) > 0)
    return PyArray_SIZE(reinterpret_cast<PyArrayObject*>(object)) == 1 ? fmt::format("; pass {}.item()", name) : "";
  if (is_complex_object(object) && !is_complex(dtype))
    return is_float(dtype) ? fmt::format("; pass {}.real", name) : "";
  return fmt::format("; pass {}({})", builtin_of(dtype), name);
}

}  // namespace ferrule::python
