#include "element_types.h"

#include <fmt/format.h>

#include <vector>

#include "../common/errors.h"
#include "base/entries.h"
#include "call/refuse.h"

namespace ferrule::python {
namespace {

bool is_of_ml_dtypes(DType dtype) { return dtype == DType::BF16 || is_float8(dtype); }

// Walks the fields of a descriptor in declared order, nested structs flattened as a Record has them, and compares.
class RecordMatch {
 public:
  RecordMatch(const char* name, const FrRecord& record) : name_(name), record_(record) {}

  bool match(PyArray_Descr* descr) {
    if (!PyDataType_HASFIELDS(descr))
      return fail("'{}' has dtype {}, but a struct with the fields {} is expected.", name_, dtype_text(descr),
                  fields_text(record_));
    if (!visit("", descr, 0)) return false;
    if (next_ < record_.n_fields) return fail("'{}' has no field '{}'.", name_, entry_at(record_.fields, next_).name);
    const auto bytes = static_cast<int64_t>(PyDataType_ELSIZE(descr));
    return bytes == record_.bytes ||
           fail("'{}' has items of {} bytes, but {} are expected.", name_, bytes, record_.bytes);
  }

  const std::string& difference() const { return difference_; }

 private:
  template <class... Values>
  bool fail(fmt::format_string<Values...> text, Values&&... values) {
    difference_ = fmt::format(text, std::forward<Values>(values)...);
    return false;
  }

  bool visit(const std::string& path, PyArray_Descr* descr, int64_t offset) {
    if (PyDataType_HASFIELDS(descr)) return visit_fields(path, descr, offset);
    const PyArray_ArrayDescr* sub = PyDataType_SUBARRAY(descr);
    if (sub == nullptr) return visit_number(path, descr, offset, 1);
    int64_t count = 1;
    PyObject* shape = sub->shape;
    for (Py_ssize_t i = 0; PyTuple_Check(shape) && i < PyTuple_GET_SIZE(shape); ++i)
      count *= PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    if (!PyDataType_HASFIELDS(sub->base)) return visit_number(path, sub->base, offset, count);
    for (int64_t i = 0; i < count; ++i)
      if (!visit(fmt::format("{}[{}]", path, i), sub->base, offset + i * PyDataType_ELSIZE(sub->base))) return false;
    return true;
  }

  bool visit_fields(const std::string& path, PyArray_Descr* descr, int64_t offset) {
    PyObject* names = PyDataType_NAMES(descr);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
      PyObject* name = PyTuple_GET_ITEM(names, i);
      PyObject* field = PyDict_GetItemWithError(PyDataType_FIELDS(descr), name);
      const char* text = PyUnicode_AsUTF8(name);
      if (field == nullptr || text == nullptr) {
        PyErr_Clear();
        return fail("'{}' has a field whose name cannot be read.", name_);
      }
      auto* inner = reinterpret_cast<PyArray_Descr*>(PyTuple_GET_ITEM(field, 0));
      const int64_t at = offset + PyLong_AsLongLong(PyTuple_GET_ITEM(field, 1));
      if (!visit(path.empty() ? text : path + "." + text, inner, at)) return false;
    }
    return true;
  }

  bool visit_number(const std::string& path, PyArray_Descr* descr, int64_t offset, int64_t count) {
    if (next_ == record_.n_fields) return fail("'{}' has the field '{}', which the struct does not have.", name_, path);
    const FrField& f = entry_at(record_.fields, next_++);
    if (path != f.name) return fail("'{}' has the field '{}' where the field '{}' is expected.", name_, path, f.name);
    const auto dtype = static_cast<DType>(f.dtype);
    const bool bytes = descr->type_num == NPY_STRING;  // char[n] is declared as uint8[n]
    if (bytes) count *= PyDataType_ELSIZE(descr);
    if ((bytes ? DType::U8 : element_type_of(descr)) != dtype)
      return fail("'{}': the field '{}' has dtype {}, but {} is expected.", name_, path, dtype_text(descr),
                  name_of(dtype));
    if (count != f.count)
      return fail("'{}': the field '{}' has {} elements, but {} are expected.", name_, path, count, f.count);
    return offset == f.offset ||
           fail("'{}': the field '{}' lies at byte {}, but byte {} is expected.", name_, path, offset, f.offset);
  }

  const char* name_;
  const FrRecord& record_;
  uint32_t next_ = 0;
  std::string difference_;
};

PyObject* literal_value(const char* text) {
  PyObject* ast = PyImport_ImportModule("ast");
  if (ast == nullptr) return nullptr;
  PyObject* value = PyObject_CallMethod(ast, "literal_eval", "s", text);
  Py_DECREF(ast);
  return value;
}

}  // namespace

std::string dtype_text(PyArray_Descr* descr) {
  PyObject* text = PyObject_Str(reinterpret_cast<PyObject*>(descr));
  const char* utf8 = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
  std::string made = utf8 != nullptr ? utf8 : "?";
  Py_XDECREF(text);
  PyErr_Clear();  // a dtype without a text is still one that does not fit
  return PyArray_ISNBO(descr->byteorder) ? made : made + " in foreign byte order";
}

PyObject* ml_class(DType dtype, bool import) {
  if (!is_of_ml_dtypes(dtype)) return nullptr;
  PyObject* name = PyUnicode_FromString("ml_dtypes");
  if (name == nullptr) return nullptr;
  PyObject* module = import ? PyImport_Import(name) : PyImport_GetModule(name);
  Py_DECREF(name);
  if (module == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_ImportError)) PyErr_Clear();
    return nullptr;
  }
  PyObject* type = PyObject_GetAttrString(module, std::string(name_of(dtype)).c_str());
  Py_DECREF(module);
  if (type == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();  // a release without it
  return type;
}

std::optional<DType> element_type_of(const PyArray_Descr* descr) {
  if (descr->type_num == NPY_OBJECT) return DType::Object;
  if (!PyTypeNum_ISUSERDEF(descr->type_num)) return dtype_of(descr);
  for (const DType dtype : {DType::BF16, DType::F8E4M3FN, DType::F8E5M2}) {
    PyObject* type = ml_class(dtype, false);
    const bool same = type == reinterpret_cast<PyObject*>(descr->typeobj);
    Py_XDECREF(type);
    PyErr_Clear();  // a module that cannot be asked has no dtypes
    if (same && type != nullptr) return dtype;
  }
  return std::nullopt;
}

PyArray_Descr* new_descr(DType dtype, const char* literal, const std::string& owner) {
  if (dtype == DType::Object) return PyArray_DescrFromType(NPY_OBJECT);
  PyObject* described = nullptr;
  if (dtype == DType::Record) {
    described = literal_value(literal);
  } else if (is_of_ml_dtypes(dtype)) {
    described = ml_class(dtype, true);
    if (described == nullptr && PyErr_Occurred() == nullptr)
      raise_from(unsupported(fmt::format("{} has dtype {}, which comes from ml_dtypes; install the package ml_dtypes.",
                                         owner, name_of(dtype))));
  } else {
    return descr_of(dtype);
  }
  if (described == nullptr) return nullptr;
  PyArray_Descr* descr = nullptr;
  const int converted = PyArray_DescrConverter(described, &descr);
  Py_DECREF(described);
  return converted == NPY_SUCCEED ? descr : nullptr;
}

bool has_elements_of(const ArgPlan& arg, PyArray_Descr* descr) {
  if (arg.dtype != DType::Record) return element_type_of(descr) == arg.dtype;
  return RecordMatch(arg.declared->name, *arg.record).match(descr);
}

std::string record_difference(const char* name, const FrRecord& record, PyArray_Descr* descr) {
  RecordMatch match(name, record);
  match.match(descr);
  return match.difference();
}

}  // namespace ferrule::python
