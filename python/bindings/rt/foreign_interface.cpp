// Arrays through __array_interface__, version 3.
#include <fmt/format.h>

#include <cstring>

#include "advice.h"
#include "array/item_type.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// Reads the entries of one interface; each function is false with the refusal set.
class InterfaceReader {
 public:
  InterfaceReader(PyObject* entries, const Asked& asked) : entries_(entries), asked_(asked) {}

  bool read(Array& array) {
    if (!PyDict_Check(entries_)) return wrong(fmt::format("is {}, but a dict is expected", kind_of_object(entries_)));
    return !has_mask() && read_type(array) && read_sizes("shape", array.shape) && read_strides(array) &&
           read_data(array);
  }

 private:
  bool wrong(const std::string& what, Builtin builtin = Builtin::Type) {
    refuse(asked_, builtin, fmt::format("has an __array_interface__ that {}.", what));
    return false;
  }

  // Borrowed; null where the entry is not there or None.
  PyObject* entry(const char* name) {
    PyObject* value = PyDict_GetItemString(entries_, name);
    return value == Py_None ? nullptr : value;
  }

  // An entry that is missing or of another kind.
  bool wrong_entry(const char* name, PyObject* value, const char* expected) {
    return wrong(value == nullptr
                     ? fmt::format("lacks the entry '{}'", name)
                     : fmt::format("has {} for '{}', but {} is expected", kind_of_object(value), name, expected));
  }

  bool has_mask() { return entry("mask") != nullptr && !wrong("has a mask, which would be ignored"); }

  bool read_type(Array& array) {
    PyObject* text = entry("typestr");
    if (text == nullptr || !PyUnicode_Check(text)) return wrong_entry("typestr", text, "a str");
    const char* type = PyUnicode_AsUTF8(text);
    if (type == nullptr) return wrong("has a 'typestr' that is no text");
    const ItemType item = parse_typestr(type);
    if (item.foreign_order)
      return wrong(fmt::format("has the typestr '{}' in foreign byte order, but native order is expected", type));
    if (!item.dtype.has_value()) return wrong(fmt::format("has the typestr '{}', which is no element type", type));
    array.dtype = *item.dtype;
    return true;
  }

  bool read_sizes(const char* name, std::vector<int64_t>& sizes) {
    PyObject* tuple = entry(name);
    if (tuple == nullptr || !PyTuple_Check(tuple)) return wrong_entry(name, tuple, "a tuple of ints");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple, i);
      if (!PyLong_Check(item))
        return wrong(fmt::format("has {} in '{}', but an int is expected", kind_of_object(item), name));
      int overflow = 0;
      sizes.push_back(PyLong_AsLongLongAndOverflow(item, &overflow));
      if (overflow != 0) return wrong(fmt::format("has a '{}' beyond 64 bits", name), Builtin::Buffer);
    }
    return true;
  }

  bool read_strides(Array& array) {
    if (array.shape.size() > static_cast<size_t>(kMaxRank))
      return wrong(fmt::format("has rank {}, but at most {} axes can be exchanged", array.shape.size(), kMaxRank),
                   Builtin::Buffer);
    for (const int64_t extent : array.shape)
      if (extent < 0) return wrong(fmt::format("has the negative extent {}", extent), Builtin::Buffer);
    if (dense_bytes(array.dtype, array.rank(), array.shape.data()) < 0)
      return wrong("has a shape whose bytes do not fit into 64 bits", Builtin::Buffer);
    if (entry("strides") == nullptr) {
      array.byte_strides = dense_strides(array.shape, array.dtype);
      return true;
    }
    return read_sizes("strides", array.byte_strides) &&
           (array.byte_strides.size() == array.shape.size() ||
            wrong(fmt::format("has {} strides for {} axes", array.byte_strides.size(), array.shape.size())));
  }

  bool read_data(Array& array) {
    PyObject* pair = entry("data");
    constexpr const char* kExpected = "a tuple of an address and whether it is read-only";
    if (pair == nullptr || !PyTuple_Check(pair)) return wrong_entry("data", pair, kExpected);
    if (PyTuple_GET_SIZE(pair) != 2 || !PyLong_Check(PyTuple_GET_ITEM(pair, 0)))
      return wrong(fmt::format("has {} for 'data', but {} is expected", short_repr(pair), kExpected));
    array.data = PyLong_AsVoidPtr(PyTuple_GET_ITEM(pair, 0));
    const int read_only = PyErr_Occurred() == nullptr ? PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1)) : -1;
    if (read_only < 0) return wrong("has 'data' that cannot be read", Builtin::Buffer);
    array.writable = read_only == 0;
    if (array.data == nullptr && element_count(array) > 0)
      return wrong("has elements, but no address", Builtin::Buffer);
    return true;
  }

  PyObject* entries_;
  const Asked& asked_;
};

}  // namespace

bool take_through_interface(PyObject* object, PyObject* interface, const Asked& asked, Array& array) {
  Array read;
  if (!InterfaceReader(interface, asked).read(read)) return false;
  PyObject* both = PyTuple_Pack(2, object, interface);  // the dict may hold what keeps the memory
  if (both == nullptr) return false;
  read.memory = owner_of(both);
  Py_DECREF(both);
  array = std::move(read);
  return true;
}

}  // namespace ferrule::python
