// Arrays through __array_interface__, version 3.
#include <fmt/format.h>

#include <cstring>

#include "array/item_type.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// Reads the entries of one interface; each function is false with the refusal set.
class InterfaceReader {
 public:
  InterfaceReader(PyObject* entries, const Asked& asked) : entries_(entries), asked_(asked) {}

  bool read(Array& array) {
    if (!PyDict_Check(entries_)) return wrong("is no dict");
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

  bool has_mask() { return entry("mask") != nullptr && !wrong("has a mask, which would be ignored"); }

  bool read_type(Array& array) {
    PyObject* text = entry("typestr");
    const char* type = text != nullptr && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : nullptr;
    if (type == nullptr) {
      PyErr_Clear();
      return wrong("has no text 'typestr'");
    }
    const ItemType item = parse_typestr(type);
    if (item.foreign_order) return wrong(fmt::format("has the typestr '{}' in foreign byte order", type));
    if (!item.dtype.has_value()) return wrong(fmt::format("has the typestr '{}', which is no element type", type));
    array.dtype = *item.dtype;
    return true;
  }

  bool read_sizes(const char* name, std::vector<int64_t>& sizes) {
    PyObject* tuple = entry(name);
    if (tuple == nullptr || !PyTuple_Check(tuple)) return wrong(fmt::format("has no tuple '{}'", name));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
      PyObject* item = PyTuple_GET_ITEM(tuple, i);
      if (!PyLong_Check(item)) return wrong(fmt::format("has an entry of '{}' that is no integer", name));
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
           (array.byte_strides.size() == array.shape.size() || wrong("has not one stride for each axis"));
  }

  bool read_data(Array& array) {
    PyObject* pair = entry("data");
    if (pair == nullptr || !PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 ||
        !PyLong_Check(PyTuple_GET_ITEM(pair, 0)))
      return wrong("has no 'data' of an address and whether it is read-only");
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
