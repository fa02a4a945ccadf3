// Indices of fr.Array as Python gives them.
#include <bit>

#include "../common/errors.h"
#include "array/item_type.h"
#include "array/view.h"
#include "array_object.h"
#include "numpy_api.h"

namespace ferrule::python {
namespace {

// A bound of a slice; false with a Python error set. Numbers beyond 64 bits are as good as the largest.
bool read_bound(PyObject* bound, std::optional<int64_t>& value) {
  if (bound == Py_None) return true;
  value = PyNumber_AsSsize_t(bound, nullptr);
  return *value != -1 || PyErr_Occurred() == nullptr;
}

bool read_part(PyObject* given, IndexPart& part) {
  if (given == Py_Ellipsis) {
    part.kind = IndexPart::Kind::Ellipsis;
    return true;
  }
  if (given == Py_None) {
    part.kind = IndexPart::Kind::NewAxis;
    return true;
  }
  if (PySlice_Check(given)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(given);
    part.kind = IndexPart::Kind::Slice;
    return read_bound(slice->start, part.start) && read_bound(slice->stop, part.stop) &&
           read_bound(slice->step, part.step);
  }
  if (PyIndex_Check(given) && !PyBool_Check(given) && !PyArray_IsScalar(given, Bool) && !PyArray_Check(given)) {
    part.kind = IndexPart::Kind::Integer;
    part.integer = PyNumber_AsSsize_t(given, PyExc_IndexError);
    return part.integer != -1 || PyErr_Occurred() == nullptr;
  }
  PyErr_Format(PyExc_TypeError,
               "An Array is indexed with integers, slices, ... and None, got %s; numpy.asarray() of it takes more.",
               Py_TYPE(given)->tp_name);
  return false;
}

PyObject* scalar_of(const Array& array) {
  if (array.dtype == DType::BF16) {
    const uint32_t bits = uint32_t{*static_cast<const uint16_t*>(array.data)} << 16;
    return PyFloat_FromDouble(static_cast<double>(std::bit_cast<float>(bits)));
  }
  if (format_of(array.dtype) == nullptr) {
    PyErr_Format(PyExc_TypeError, "Python has no number for an element of type %s.", name_of(array.dtype).data());
    return nullptr;
  }
  PyArray_Descr* descr = descr_of(array.dtype);
  PyObject* scalar = PyArray_Scalar(array.data, descr, nullptr);
  Py_DECREF(descr);
  return scalar;
}

}  // namespace

PyObject* array_subscript(PyObject* self, PyObject* index) try {
  const bool several = PyTuple_Check(index);
  const Py_ssize_t count = several ? PyTuple_GET_SIZE(index) : 1;
  std::vector<IndexPart> parts(static_cast<size_t>(count));
  bool only_integers = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    IndexPart& part = parts[static_cast<size_t>(i)];
    if (!read_part(several ? PyTuple_GET_ITEM(index, i) : index, part)) return nullptr;
    only_integers &= part.kind == IndexPart::Kind::Integer;
  }
  Array view = view_of(*array_of(self), parts);
  return only_integers && view.shape.empty() ? scalar_of(view) : make_array_object(std::move(view));
} catch (...) {
  raise_current_exception();
  return nullptr;
}

}  // namespace ferrule::python
