#include "dtype_object.h"

#include "../common/errors.h"
#include "numpy_api.h"

namespace ferrule::python {

std::optional<DType> dtype_of_object(PyObject* object) {
  if (object == nullptr) return DType::F64;
  for (const DType dtype : {DType::BF16, DType::F8E4M3FN, DType::F8E5M2})
    if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, name_of(dtype).data()) == 0) return dtype;
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(object, &descr) != NPY_SUCCEED) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R is no element type.", object);
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of(descr);
  if (!dtype.has_value())
    PyErr_Format(PyExc_TypeError, "An array of dtype %R is not supported.", reinterpret_cast<PyObject*>(descr));
  Py_DECREF(descr);
  return dtype;
}

PyObject* object_of_dtype(DType dtype) {
  PyArray_Descr* descr = static_cast<int>(dtype) < kDTypeCount ? descr_of(dtype) : nullptr;
  return descr != nullptr ? reinterpret_cast<PyObject*>(descr) : PyUnicode_FromString(name_of(dtype).data());
}

}  // namespace ferrule::python
