// asarray() and from_dlpack().
#include "../common/errors.h"
#include "array_object.h"
#include "call/overlap.h"
#include "call_target.h"
#include "foreign_array.h"
#include "numpy_api.h"

namespace ferrule::python {
namespace {

// None, "cpu" or (1, 0); false with a Python error set.
bool is_this_device(PyObject* device) {
  if (device == Py_None || (PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "cpu") == 0))
    return true;
  int type = 0, id = 0;
  if (PyTuple_Check(device) && PyArg_ParseTuple(device, "ii", &type, &id) != 0 && type == dlpack::kCpu && id == 0)
    return true;
  PyErr_Clear();
  PyErr_Format(PyExc_BufferError, "Arrays are on the device 'cpu', also (1, 0), not on %R.", device);
  return false;
}

bool take_for_import(PyObject* object, const Asked& asked, DlpackRequest& request, Array& array) {
  if (PyCapsule_CheckExact(object)) return take_capsule(Py_NewRef(object), asked, request, array);
  if (PyArray_Check(object) && !shows_its_mask(object, asked)) return false;
  for (const char* name : {"__dlpack__", "__dlpack_device__"}) {
    PyObject* method = PyObject_GetAttrString(object, name);
    if (method == nullptr) return false;
    Py_DECREF(method);
  }
  return take_through_dlpack(object, facts_of(Py_TYPE(object)), asked, request, array);
}

PyObject* from_dlpack(PyObject*, PyObject* args, PyObject* kwargs) try {
  static const char* names[] = {"", "device", "copy", nullptr};
  PyObject *object = nullptr, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:from_dlpack", const_cast<char**>(names), &object, &device,
                                   &copy))
    return nullptr;
  if (copy != Py_None && !PyBool_Check(copy)) {
    PyErr_SetString(PyExc_TypeError, "'copy' is True, False or None.");
    return nullptr;
  }
  if (!is_this_device(device)) return nullptr;
  const Asked asked = {"from_dlpack", "x"};
  DlpackRequest request = {copy == Py_None ? nullptr : copy};
  Array array;
  if (!take_for_import(object, asked, request, array)) return nullptr;
  if (copy == Py_False && request.copied) {
    refuse(asked, Builtin::Buffer, "was copied by its exporter, though copy=False was asked.");
    return nullptr;
  }
  if (copy == Py_True && !request.copied) array = copy_of(array);
  return make_array_object(std::move(array));
} catch (...) {
  raise_current_exception();
  return nullptr;
}

PyObject* asarray(PyObject*, PyObject* object) { return as_array(object, "asarray", "x"); }

PyObject* as_array_named(PyObject*, PyObject* args) {
  PyObject* object = nullptr;
  const char *function = nullptr, *argument = nullptr;
  if (!PyArg_ParseTuple(args, "Oss:_as_array", &object, &function, &argument)) return nullptr;
  return as_array(object, function, argument);
}

PyObject* overlaps_itself(PyObject*, PyObject* object) {
  if (!PyArray_Check(object)) {
    PyErr_SetString(PyExc_TypeError, "'x' is no numpy.ndarray; pass one.");
    return nullptr;
  }
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const int rank = PyArray_NDIM(array);
  const std::vector<int64_t> shape(PyArray_DIMS(array), PyArray_DIMS(array) + rank);
  const std::vector<int64_t> strides(PyArray_STRIDES(array), PyArray_STRIDES(array) + rank);
  return PyBool_FromLong(
      may_overlap_itself({PyArray_BYTES(array), PyArray_ITEMSIZE(array), rank, shape.data(), strides.data()}));
}

PyObject* address(PyObject*, PyObject* object) {
  const Array* array = array_of(object);
  if (array == nullptr) {
    PyErr_SetString(PyExc_TypeError, "'x' is no fr.Array; pass one.");
    return nullptr;
  }
  return PyLong_FromVoidPtr(array->data);
}

PyMethodDef functions[] = {
    {"asarray", asarray, METH_O,
     "asarray(x, /)\n--\n\n"
     "An Array over the memory of x, without a copy: an ndarray, or what offers DLPack, a buffer or the array "
     "interface.\n\nRaises TypeError for what offers none, such as a list, and BufferError for what cannot be "
     "exchanged."},
    {"_as_array", as_array_named, METH_VARARGS,
     "_as_array(x, function, argument, /)\n--\n\nasarray(x), whose errors name that function and argument."},
    {"_hand_over", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(hand_over_like)), METH_FASTCALL,
     "_hand_over(x, like, /)\n--\n\n"
     "The new ndarray x as an array of the library that `like` is of, through the C exchange table of its type; None "
     "where\nit has none, or x is read-only."},
    {"_address", address, METH_O, "_address(x, /)\n--\n\nWhere the first element of an Array is, of any dtype."},
    {"_overlaps_itself", overlaps_itself, METH_O,
     "_overlaps_itself(x, /)\n--\n\nWhether a call refuses to write the ndarray, since elements may share memory."},
    {"from_dlpack", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(from_dlpack)),
     METH_VARARGS | METH_KEYWORDS,
     "from_dlpack(x, /, *, device=None, copy=None)\n--\n\n"
     "An Array over the memory of a DLPack exporter, or of a capsule. copy: True always copies, False never, None "
     "where\n"
     "the exporter must. Unversioned tensors are read-only. Raises AttributeError where x has no __dlpack__, and\n"
     "BufferError for what cannot be exchanged."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* as_array(PyObject* object, const char* function, const char* argument) try {
  if (array_of(object) != nullptr) return Py_NewRef(object);
  const Asked asked = {function, argument};
  Array array;
  if (PyArray_Check(object)) return take_ndarray(object, asked, array) ? make_array_object(std::move(array)) : nullptr;
  const Taken taken = take_foreign(object, facts_of(Py_TYPE(object)), asked, array);
  if (taken == Taken::Done) return make_array_object(std::move(array));
  if (taken == Taken::NoArray)
    refuse(asked, Builtin::Type,
           std::string("is of type ") + Py_TYPE(object)->tp_name + ", which offers no array; numpy.asarray(" +
               argument + ") may make one.");
  return nullptr;
} catch (...) {
  raise_current_exception();
  return nullptr;
}

bool add_array_functions(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace ferrule::python
