/* `Nothing`: objects of a type with vectorcall that do nothing, what no callable of an own type can be faster than.
   What a careful author writes with the NumPy C API: `noop1`, `noop3`, `noop10` take anything and do nothing; `call1`,
   `call3`, `call10` check dtype, byte order, rank, layout, alignment, writability, equal extents and overlap of the
   last array with the others. All by position or by name. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_25_API_VERSION
#include <numpy/arrayobject.h>
#include <stddef.h>

static PyObject* names[10];

static PyObject* noop(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  (void)self, (void)args, (void)nargs, (void)kwnames;
  Py_RETURN_NONE;
}

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
} Nothing;

static PyObject* nothing_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  (void)args, (void)kwargs;
  PyObject* self = type->tp_alloc(type, 0);
  if (self) ((Nothing*)self)->vectorcall = (vectorcallfunc)noop;
  return self;
}

static PyTypeObject nothing_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "byhand.Nothing",
                                    .tp_basicsize = sizeof(Nothing),
                                    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                                    .tp_vectorcall_offset = offsetof(Nothing, vectorcall),
                                    .tp_call = PyVectorcall_Call,
                                    .tp_new = nothing_new};

static int gather(int n, PyObject** given, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Py_ssize_t n_names = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (nargs + n_names != n) {
    PyErr_Format(PyExc_TypeError, "%d arguments are expected.", n);
    return -1;
  }
  for (int i = 0; i < n; ++i) given[i] = i < nargs ? args[i] : NULL;
  for (Py_ssize_t k = 0; k < n_names; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    int at = (int)(nargs + k);
    if (names[at == n - 1 ? 9 : at] != name) {
      for (at = 0; at < n; ++at)
        if (PyUnicode_Compare(names[at == n - 1 ? 9 : at], name) == 0) break;
    }
    if (at == n || given[at]) {
      PyErr_Format(PyExc_TypeError, "'%U' is wrong.", name);
      return -1;
    }
    given[at] = args[nargs + k];
  }
  return 0;
}

static inline PyObject* call(int n, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  PyObject* given[10];
  if (!kwnames && nargs == n) {
    memcpy(given, args, sizeof(PyObject*) * (size_t)n);
  } else if (gather(n, given, args, nargs, kwnames) < 0) {
    return NULL;
  }
  npy_intp extent = 0;
  char* data[10];
  for (int i = 0; i < n; ++i) {
    if (!PyArray_Check(given[i])) {
      PyErr_Format(PyExc_TypeError, "Argument %d is no array.", i);
      return NULL;
    }
    PyArrayObject* a = (PyArrayObject*)given[i];
    const int flags = i == n - 1 ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO;
    if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(a) || PyArray_NDIM(a) != 1 ||
        (PyArray_FLAGS(a) & flags) != flags) {
      PyErr_Format(PyExc_TypeError, "Argument %d is no fitting array.", i);
      return NULL;
    }
    if (i > 0 && PyArray_DIM(a, 0) != extent) {
      PyErr_Format(PyExc_ValueError, "Argument %d has another extent.", i);
      return NULL;
    }
    extent = PyArray_DIM(a, 0);
    data[i] = PyArray_DATA(a);
  }
  const size_t bytes = (size_t)extent * sizeof(double);
  for (int i = 0; i + 1 < n; ++i)
    if (data[i] < data[n - 1] + bytes && data[n - 1] < data[i] + bytes) {
      PyErr_Format(PyExc_ValueError, "Argument %d overlaps the result.", i);
      return NULL;
    }
  *(double*)data[n - 1] = (double)extent;
  Py_RETURN_NONE;
}

#define CALL(n)                                                                                          \
  static PyObject* call##n(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) { \
    (void)self;                                                                                          \
    return call(n, args, nargs, kwnames);                                                                \
  }
CALL(1)
CALL(3)
CALL(10)

#define METHOD(name, f) {name, (PyCFunction)(void (*)(void))f, METH_FASTCALL | METH_KEYWORDS, NULL}
static PyMethodDef methods[] = {METHOD("noop", noop),
                                METHOD("call1", call1),
                                METHOD("call3", call3),
                                METHOD("call10", call10),
                                {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "byhand", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_byhand(void) {
  import_array();
  static const char* texts[10] = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "out"};
  for (int i = 0; i < 10; ++i) names[i] = PyUnicode_InternFromString(texts[i]);
  PyObject* made = PyModule_Create(&module);
  if (!made || PyModule_AddType(made, &nothing_type) < 0) return NULL;
  return made;
}
