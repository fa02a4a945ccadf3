/* The checks of one array by hand: dtype, byte order, rank, layout, alignment, writability, and the extent of the
 * first. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>

/* The data of `given`, or NULL with an exception; `index` 0 sets the extent, the others must have it. */
static inline __attribute__((always_inline)) char* check_array(PyObject* given, int index, int written,
                                                               npy_intp* extent) {
  if (!PyArray_Check(given)) {
    PyErr_Format(PyExc_TypeError, "Argument %d is no array.", index);
    return NULL;
  }
  PyArrayObject* a = (PyArrayObject*)given;
  const int flags = written ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO;
  if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(a) || PyArray_NDIM(a) != 1 ||
      (PyArray_FLAGS(a) & flags) != flags) {
    PyErr_Format(PyExc_TypeError, "Argument %d is no fitting array.", index);
    return NULL;
  }
  if (index > 0 && PyArray_DIM(a, 0) != *extent) {
    PyErr_Format(PyExc_ValueError, "Argument %d has another extent.", index);
    return NULL;
  }
  *extent = PyArray_DIM(a, 0);
  return PyArray_DATA(a);
}

/* -1 with an exception if one of `n` arrays overlaps the written one. */
static inline __attribute__((always_inline)) int check_overlap(int n, char* const* data, const char* written,
                                                               npy_intp extent) {
  const size_t bytes = (size_t)extent * sizeof(double);
  for (int i = 0; i < n; ++i)
    if (data[i] < written + bytes && written < data[i] + bytes) {
      PyErr_Format(PyExc_ValueError, "Argument %d overlaps the result.", i);
      return -1;
    }
  return 0;
}
