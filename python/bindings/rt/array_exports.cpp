// How others read an fr.Array: the buffer protocol, DLPack and the array interface.
#include <fmt/format.h>

#include "../common/errors.h"
#include "array/item_type.h"
#include "array/tensor.h"
#include "array/view.h"
#include "array_object.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

// For the destructor of a capsule that nobody took.
template <class Managed>
void drop_tensor(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // taken: it is the taker's to drop
  give_back_tensor(static_cast<Managed*>(PyCapsule_GetPointer(capsule, name)));
}

void drop_versioned(PyObject* capsule) { drop_tensor<dlpack::ManagedVersioned>(capsule, "dltensor_versioned"); }
void drop_unversioned(PyObject* capsule) { drop_tensor<dlpack::Managed>(capsule, "dltensor"); }

template <class Managed>
PyObject* capsule_of(Managed* managed, const char* name, PyCapsule_Destructor drop) {
  PyObject* capsule = PyCapsule_New(managed, name, drop);
  if (capsule == nullptr) managed->deleter(managed);
  return capsule;
}

// Extents or strides as a Py_buffer has them, which does not change them.
Py_ssize_t* sizes_of(const std::vector<int64_t>& values) {
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "they are passed on as they lie in the array");
  return reinterpret_cast<Py_ssize_t*>(const_cast<int64_t*>(values.data()));
}

struct Options {
  bool versioned = false;
  PyObject* copy = Py_None;
};

// Two integers in a tuple.
bool is_pair(PyObject* object) {
  return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && PyLong_Check(PyTuple_GET_ITEM(object, 0)) &&
         PyLong_Check(PyTuple_GET_ITEM(object, 1));
}

// Throws Error for a value that the export does not take; false with a Python error set.
bool read_option(const char* name, PyObject* value, Options& options) {
  const std::string_view option = name;
  if (option == "stream") {
    if (value != Py_None) throw user_error("'stream' must be None for memory of the host.");
  } else if (option == "max_version") {
    if (value == Py_None) return true;
    if (!is_pair(value)) throw user_error("'max_version' must be None or a tuple (major, minor).", Builtin::Type);
    const long major = PyLong_AsLong(PyTuple_GET_ITEM(value, 0));
    if (major == -1 && PyErr_Occurred() != nullptr) return false;
    options.versioned = major >= static_cast<long>(dlpack::kMajor);
  } else if (option == "dl_device") {
    if (value == Py_None) return true;
    if (!is_pair(value)) throw user_error("'dl_device' must be None or a tuple (type, id).", Builtin::Type);
    const long type = PyLong_AsLong(PyTuple_GET_ITEM(value, 0)), id = PyLong_AsLong(PyTuple_GET_ITEM(value, 1));
    if (PyErr_Occurred() != nullptr) return false;
    if (type != dlpack::kCpu || id != 0)
      throw user_error(
          fmt::format("'dl_device' = ({}, {}) is not where the array is: memory of the host, (1, 0).", type, id),
          Builtin::Buffer);
  } else if (option == "copy") {
    if (value != Py_None && !PyBool_Check(value))
      throw user_error("'copy' must be True, False or None.", Builtin::Type);
    options.copy = value;
  } else {
    throw user_error(fmt::format("__dlpack__() has no argument '{}'.", name), Builtin::Type);
  }
  return true;
}

PyObject* export_tensor(const Array& array, const Options& options) {
  const bool copied = options.copy == Py_True;
  const Array& lent = copied ? copy_of(array) : array;
  if (options.versioned) return capsule_of(lend_versioned_tensor(lent, copied), "dltensor_versioned", drop_versioned);
  if (!lent.writable)
    throw user_error(
        "A read-only array cannot be exported without a version, which could not tell; ask with max_version=(1, 0), or "
        "pass a .copy().",
        Builtin::Buffer);
  return capsule_of(lend_tensor(lent), "dltensor", drop_unversioned);
}

}  // namespace

PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names) try {
  if (nargs != 0) throw user_error("The arguments of __dlpack__() are given by name.", Builtin::Type);
  Options options;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (name == nullptr || !read_option(name, args[i], options)) return nullptr;
  }
  return export_tensor(*array_of(self), options);
} catch (const Error& error) {
  const std::string text = error.what();
  // What src/array says of a tensor lacks its subject.
  raise_from(Error(error.kind(), text.starts_with("has ") ? "The array " + text : text, error.builtin()));
  return nullptr;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* array_dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", int{dlpack::kCpu}, 0); }

PyObject* array_interface(PyObject* self, void*) {
  const Array& array = *array_of(self);
  const std::string type = typestr_of(array.dtype);
  if (type.empty()) {
    PyErr_Format(PyExc_BufferError, "The array interface cannot express %s; DLPack can.", name_of(array.dtype).data());
    return nullptr;
  }
  PyObject* shape = PyObject_GetAttrString(self, "shape");
  PyObject* strides = PyObject_GetAttrString(self, "strides");
  PyObject* address = PyLong_FromVoidPtr(array.data);
  PyObject* interface = nullptr;
  if (shape != nullptr && strides != nullptr && address != nullptr)
    interface = Py_BuildValue("{sOsOsss(OO)si}", "shape", shape, "strides", strides, "typestr", type.c_str(), "data",
                              address, array.writable ? Py_False : Py_True, "version", 3);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  Py_XDECREF(address);
  return interface;
}

int array_get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
  const Array& array = *array_of(self);
  buffer->obj = nullptr;
  const char* refusal = nullptr;
  const auto asks = [flags](int for_what) { return (flags & for_what) == for_what; };
  const bool c_order = is_dense(array), f_order = is_dense(transposed(array));
  if (format_of(array.dtype) == nullptr)
    refusal = "The buffer protocol cannot express the element type; DLPack can.";
  else if (asks(PyBUF_WRITABLE) && !array.writable)
    refusal = "The array is read-only.";
  else if (asks(PyBUF_C_CONTIGUOUS) && !c_order)
    refusal = "The array is not in C order; pass a .copy().";
  else if (asks(PyBUF_F_CONTIGUOUS) && !f_order)
    refusal = "The array is not in Fortran order.";
  else if (asks(PyBUF_ANY_CONTIGUOUS) && !c_order && !f_order)
    refusal = "The array is not contiguous; pass a .copy().";
  else if (!asks(PyBUF_STRIDES) && !c_order)
    refusal = "The array has strides; pass a .copy().";
  if (refusal != nullptr) {
    PyErr_SetString(PyExc_BufferError, refusal);
    return -1;
  }
  const int64_t item = item_size(array.dtype);
  buffer->buf = array.data;
  buffer->len = element_count(array) * item;
  buffer->itemsize = item;
  buffer->readonly = array.writable ? 0 : 1;
  buffer->format = asks(PyBUF_FORMAT) ? const_cast<char*>(format_of(array.dtype)) : nullptr;
  buffer->ndim = asks(PyBUF_ND) ? array.rank() : 1;
  buffer->shape = asks(PyBUF_ND) ? sizes_of(array.shape) : nullptr;
  buffer->strides = asks(PyBUF_STRIDES) ? sizes_of(array.byte_strides) : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  buffer->obj = Py_NewRef(self);
  return 0;
}

}  // namespace ferrule::python
