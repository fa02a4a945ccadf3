#define FERRULE_IMPORTS_NUMPY
#include "numpy_api.h"

namespace ferrule::python {

bool import_numpy_api() {
  if (PyArray_ImportNumPyAPI() < 0) return false;
  return true;
}

std::optional<DType> dtype_of(const PyArray_Descr* descr) {
  if (!PyArray_ISNBO(descr->byteorder)) return std::nullopt;
  switch (descr->type_num) {
    case NPY_BOOL:
      return DType::Bool;
    case NPY_BYTE:
      return DType::I8;
    case NPY_SHORT:
      return DType::I16;
    case NPY_INT:
      return DType::I32;
    case NPY_LONG:
    case NPY_LONGLONG:
      return DType::I64;
    case NPY_UBYTE:
      return DType::U8;
    case NPY_USHORT:
      return DType::U16;
    case NPY_UINT:
      return DType::U32;
    case NPY_ULONG:
    case NPY_ULONGLONG:
      return DType::U64;
    case NPY_HALF:
      return DType::F16;
    case NPY_FLOAT:
      return DType::F32;
    case NPY_DOUBLE:
      return DType::F64;
    case NPY_CFLOAT:
      return DType::C64;
    case NPY_CDOUBLE:
      return DType::C128;
    default:
      return std::nullopt;
  }
}

PyArray_Descr* descr_of(DType dtype) {
  if (static_cast<int>(dtype) >= kDTypeCount) return nullptr;
  static_assert(sizeof(long) == 8, "NPY_LONG is int64 here");
  constexpr int kNumbers[kDTypeCount] = {NPY_BOOL,  NPY_BYTE,   NPY_SHORT,  NPY_INT,    NPY_LONG,
                                         NPY_UBYTE, NPY_USHORT, NPY_UINT,   NPY_ULONG,  NPY_HALF,
                                         -1,        NPY_FLOAT,  NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE};
  const int number = kNumbers[static_cast<int>(dtype)];
  return number < 0 ? nullptr : PyArray_DescrFromType(number);
}

int is_masked_array(PyObject* array) {
  // Names are made once, so that asking allocates nothing.
  static PyObject* const module_name = PyUnicode_InternFromString("numpy.ma");
  static PyObject* const type_name = PyUnicode_InternFromString("MaskedArray");
  if (module_name == nullptr || type_name == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  // Where numpy.ma was never imported no masked array can exist.
  PyObject* module = PyImport_GetModule(module_name);
  if (module == nullptr) return PyErr_Occurred() ? -1 : 0;
  PyObject* type = PyObject_GetAttr(module, type_name);
  Py_DECREF(module);
  if (type == nullptr) return -1;
  const int result = PyObject_IsInstance(array, type);
  Py_DECREF(type);
  return result;
}

int has_other_operators(PyObject* array) {
  static PyObject* const names[] = {PyUnicode_InternFromString("__array_ufunc__"),
                                    PyUnicode_InternFromString("__mul__"), PyUnicode_InternFromString("__add__")};
  for (PyObject* name : names) {
    if (name == nullptr) {
      PyErr_NoMemory();
      return -1;
    }
    PyObject* own = PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name);
    PyObject* plain = own == nullptr ? nullptr : PyObject_GetAttr(reinterpret_cast<PyObject*>(&PyArray_Type), name);
    const int differs = plain == nullptr ? -1 : own != plain;
    Py_XDECREF(own);
    Py_XDECREF(plain);
    if (differs != 0) return differs;
  }
  return 0;
}

}  // namespace ferrule::python
