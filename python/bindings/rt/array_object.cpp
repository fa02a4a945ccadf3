#include "array_object.h"

#include <structmember.h>

#include <cstddef>
#include <new>
#include <system_error>

#include "../common/errors.h"
#include "array/file_map.h"
#include "array/item_type.h"
#include "array/tensor.h"
#include "array/view.h"
#include "dtype_object.h"

namespace ferrule::python {
namespace {

PyTypeObject* array_type = nullptr;  // made once, at import

struct ArrayObject {
  PyObject_HEAD Array array;
  std::vector<int64_t> element_strides;
  bool whole_strides;  // each is a multiple of the item size, or does not matter
  PyObject* weakrefs;
};

ArrayObject* as_object(PyObject* self) { return reinterpret_cast<ArrayObject*>(self); }
const Array& own(PyObject* self) { return as_object(self)->array; }

// Calls `make`, which gives a new reference, and translates what it throws.
template <class Make>
PyObject* translated(Make&& make) {
  try {
    return make();
  } catch (...) {
    raise_current_exception();
    return nullptr;
  }
}

PyObject* tuple_of(const std::vector<int64_t>& values) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(values.size()));
  for (size_t i = 0; tuple != nullptr && i < values.size(); ++i) {
    PyObject* value = PyLong_FromLongLong(values[i]);
    if (value == nullptr) Py_CLEAR(tuple);
    if (value == nullptr) break;
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), value);
  }
  return tuple;
}

// An int or a sequence of ints; false with a Python error set.
bool read_shape(PyObject* object, std::vector<int64_t>& shape) {
  if (PyIndex_Check(object)) {
    shape = {PyNumber_AsSsize_t(object, PyExc_OverflowError)};
    return PyErr_Occurred() == nullptr;
  }
  PyObject* items = PySequence_Fast(object, "A shape is an int or a sequence of ints.");
  if (items == nullptr) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items) && PyErr_Occurred() == nullptr; ++i)
    shape.push_back(PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items, i), PyExc_OverflowError));
  Py_DECREF(items);
  return PyErr_Occurred() == nullptr;
}

PyObject* make_filled(PyObject* args, PyObject* kwargs, const char* format, bool zeros) {
  static const char* names[] = {"shape", "dtype", nullptr};
  PyObject *shape_given = nullptr, *dtype_given = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), &shape_given, &dtype_given))
    return nullptr;
  std::vector<int64_t> shape;
  const std::optional<DType> dtype = dtype_of_object(dtype_given);
  if (!dtype.has_value() || !read_shape(shape_given, shape)) return nullptr;
  return translated([&] {
    Array array = make_array(*dtype, std::move(shape));
    if (zeros) std::memset(array.data, 0, static_cast<size_t>(element_count(array) * item_size(*dtype)));
    return make_array_object(std::move(array));
  });
}

PyObject* array_empty(PyObject*, PyObject* args, PyObject* kwargs) {
  return make_filled(args, kwargs, "O|O:empty", false);
}

PyObject* array_zeros(PyObject*, PyObject* args, PyObject* kwargs) {
  return make_filled(args, kwargs, "O|O:zeros", true);
}

std::optional<MapMode> map_mode(const char* text) {
  constexpr std::pair<std::string_view, MapMode> kModes[] = {
      {"r", MapMode::Read}, {"r+", MapMode::Write}, {"w+", MapMode::Create}, {"c", MapMode::CopyOnWrite}};
  for (const auto& [name, mode] : kModes)
    if (name == text) return mode;
  PyErr_Format(PyExc_ValueError, "The mode of a mapped file is 'r', 'r+', 'w+' or 'c', got '%s'.", text);
  return std::nullopt;
}

PyObject* array_map(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"path", "dtype", "shape", "offset", "mode", nullptr};
  PyObject *path_given = nullptr, *dtype_given = nullptr, *shape_given = nullptr;
  long long offset = 0;
  const char* mode_given = "r";
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|Ls:map", const_cast<char**>(names), &path_given, &dtype_given,
                                   &shape_given, &offset, &mode_given))
    return nullptr;
  std::vector<int64_t> shape;
  const std::optional<DType> dtype = dtype_of_object(dtype_given);
  const std::optional<MapMode> mode = dtype.has_value() ? map_mode(mode_given) : std::nullopt;
  PyObject* path = nullptr;
  if (!mode.has_value() || !read_shape(shape_given, shape) || PyUnicode_FSConverter(path_given, &path) == 0)
    return nullptr;
  PyObject* result = nullptr;
  try {
    result = make_array_object(map_file(PyBytes_AS_STRING(path), *dtype, std::move(shape), offset, *mode));
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path_given);
  } catch (...) {
    raise_current_exception();
  }
  Py_DECREF(path);
  return result;
}

PyObject* array_copy(PyObject* self, PyObject*) {
  return translated([&] { return make_array_object(copy_of(own(self))); });
}

void array_dealloc(PyObject* self) {
  if (as_object(self)->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  as_object(self)->array.~Array();
  as_object(self)->element_strides.~vector();
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* array_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "An Array is made by Array.empty(), Array.zeros(), Array.map(), ferrule.asarray() or "
                  "ferrule.from_dlpack().");
  return nullptr;
}

Py_ssize_t array_length(PyObject* self) {
  if (!own(self).shape.empty()) return own(self).shape[0];
  PyErr_SetString(PyExc_TypeError, "An array without axes has no length.");
  return -1;
}

PyObject* array_repr(PyObject* self) {
  PyObject* shape = tuple_of(own(self).shape);
  if (shape == nullptr) return nullptr;
  const std::string name(name_of(own(self).dtype));
  PyObject* text = PyUnicode_FromFormat("<Array %s %R%s>", name.c_str(), shape, own(self).writable ? "" : " read-only");
  Py_DECREF(shape);
  return text;
}

PyObject* get_shape(PyObject* self, void*) { return tuple_of(own(self).shape); }
PyObject* get_strides(PyObject* self, void*) { return tuple_of(own(self).byte_strides); }
PyObject* get_dtype(PyObject* self, void*) { return object_of_dtype(own(self).dtype); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(own(self).rank()); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromLongLong(element_count(own(self))); }
PyObject* get_item_size(PyObject* self, void*) { return PyLong_FromLong(item_size(own(self).dtype)); }
PyObject* get_bytes(PyObject* self, void*) {
  return PyLong_FromLongLong(element_count(own(self)) * item_size(own(self).dtype));
}
PyObject* get_read_only(PyObject* self, void*) { return PyBool_FromLong(own(self).writable ? 0 : 1); }
PyObject* get_transposed(PyObject* self, void*) {
  return translated([&] { return make_array_object(transposed(own(self))); });
}

template <class Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef array_methods[] = {
    {"empty", as_method(array_empty), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "empty(shape, dtype='float64')\n--\n\nA new array in C order, 64-byte aligned; its values are undefined."},
    {"zeros", as_method(array_zeros), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "zeros(shape, dtype='float64')\n--\n\nA new array of zeros in C order, 64-byte aligned."},
    {"map", as_method(array_map), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "map(path, dtype, shape, offset=0, mode='r')\n--\n\n"
     "An array over a file from byte `offset` on, in C order. mode: 'r' reads, 'r+' also writes into the file and "
     "extends\nit where it is short, 'w+' makes the file new, 'c' writes to memory alone. Nobody may shorten the file "
     "meanwhile."},
    {"copy", array_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nThe same values in a new array in C order, which is writable."},
    {"__dlpack__", as_method(array_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "A DLPack capsule over the array's memory; versioned where max_version is (1, 0) or later."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(1, 0): memory of the host."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef array_getset[] = {
    {"shape", get_shape, nullptr, "The extents of the axes.", nullptr},
    {"strides", get_strides, nullptr, "Bytes from one element to the next, for each axis.", nullptr},
    {"dtype", get_dtype, nullptr, "NumPy's dtype; its name as text where NumPy has none, such as 'bfloat16'.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_item_size, nullptr, "Bytes of an element.", nullptr},
    {"nbytes", get_bytes, nullptr, "Bytes of all elements.", nullptr},
    {"readonly", get_read_only, nullptr, "Whether the elements cannot be changed through this array.", nullptr},
    {"T", get_transposed, nullptr, "A view with the axes in reverse.", nullptr},
    {"__array_interface__", array_interface, nullptr, "NumPy's array interface, version 3.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef array_members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs), READONLY, nullptr},
                               {nullptr, 0, 0, 0, nullptr}};

const char* kArrayDoc =
    "An array in memory of its own, in a file, or lent by another object, and views of those.\n\n"
    "Exchanged without a copy through DLPack, the buffer protocol and NumPy's array interface; numpy.asarray() and\n"
    "torch.from_dlpack() read and write the same memory. Indexing with integers, slices, ... and None gives views.";

PyType_Slot array_slots[] = {{Py_tp_new, reinterpret_cast<void*>(array_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(array_dealloc)},
                             {Py_tp_repr, reinterpret_cast<void*>(array_repr)},
                             {Py_tp_methods, array_methods},
                             {Py_tp_getset, array_getset},
                             {Py_tp_members, array_members},
                             {Py_tp_doc, const_cast<char*>(kArrayDoc)},
                             {Py_mp_length, reinterpret_cast<void*>(array_length)},
                             {Py_mp_subscript, reinterpret_cast<void*>(array_subscript)},
                             {Py_bf_getbuffer, reinterpret_cast<void*>(array_get_buffer)},
                             {0, nullptr}};

PyType_Spec array_spec = {"ferrule.Array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT, array_slots};

}  // namespace

const Array* array_of(PyObject* object) { return Py_IS_TYPE(object, array_type) ? &own(object) : nullptr; }

const int64_t* element_strides_of(PyObject* object) {
  static constexpr int64_t kNoAxes[1] = {};
  const ArrayObject* array = as_object(object);
  if (!array->whole_strides) return nullptr;
  return array->element_strides.empty() ? kNoAxes : array->element_strides.data();
}

PyObject* make_array_object(Array array) try {
  const int64_t item = item_size(array.dtype);
  std::vector<int64_t> strides;
  for (const int64_t stride : array.byte_strides) strides.push_back(stride / item);
  const bool whole = unexpressible_axis(array) < 0;
  PyObject* self = array_type->tp_alloc(array_type, 0);
  if (self == nullptr) return nullptr;
  new (&as_object(self)->array) Array(std::move(array));
  new (&as_object(self)->element_strides) std::vector<int64_t>(std::move(strides));
  as_object(self)->whole_strides = whole;
  return self;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

bool add_array_type(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &array_spec, nullptr);
  if (type == nullptr) return false;
  array_type = reinterpret_cast<PyTypeObject*>(type);
  PyObject* capsule = exchange_capsule();
  const bool set = capsule != nullptr && PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) == 0;
  Py_XDECREF(capsule);
  return set && PyModule_AddObjectRef(module, "Array", type) == 0;
}

}  // namespace ferrule::python
