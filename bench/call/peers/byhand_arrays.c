/* What a careful author writes with the NumPy C API: `call1` to `call100` check their arrays, equal extents and overlap
   of the last one, which is written, with the others; by position or by name. `noop` takes anything and does nothing.
   `Nothing`: objects of a type with vectorcall that do nothing, what no callable of an own type can be faster than. */
#include <stddef.h>

#include "byhand_check.h"

#define MOST 100
static PyObject* names[MOST];

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

static PyTypeObject nothing_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "byhand_arrays.Nothing",
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
    if (names[at] != name) {
      for (at = 0; at < n; ++at)
        if (names[at] == name) break;
      if (at == n) {
        for (at = 0; at < n; ++at)
          if (PyUnicode_Compare(names[at], name) == 0) break;
      }
    }
    if (at == n || given[at]) {
      PyErr_Format(PyExc_TypeError, "'%U' is wrong.", name);
      return -1;
    }
    given[at] = args[nargs + k];
  }
  return 0;
}

static inline __attribute__((always_inline)) PyObject* call(int n, PyObject* const* args, Py_ssize_t nargs,
                                                            PyObject* kwnames) {
  PyObject* gathered[MOST];
  PyObject* const* given = args;
  if (kwnames || nargs != n) {
    if (gather(n, gathered, args, nargs, kwnames) < 0) return NULL;
    given = gathered;
  }
  npy_intp extent = 0;
  char* data[MOST];
  for (int i = 0; i < n; ++i) {
    data[i] = check_array(given[i], i, i == n - 1, &extent);
    if (!data[i]) return NULL;
  }
  if (check_overlap(n - 1, data, data[n - 1], extent) < 0) return NULL;
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
CALL(30)
CALL(100)

#define METHOD(name, f) {name, (PyCFunction)(void (*)(void))f, METH_FASTCALL | METH_KEYWORDS, NULL}
static PyMethodDef methods[] = {METHOD("noop", noop),     METHOD("call1", call1),   METHOD("call3", call3),
                                METHOD("call10", call10), METHOD("call30", call30), METHOD("call100", call100),
                                {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "byhand_arrays", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_byhand_arrays(void) {
  import_array();
  for (int i = 0; i < MOST; ++i) {
    PyObject* text = PyUnicode_FromFormat("a%d", i);
    if (!text) return NULL;
    PyUnicode_InternInPlace(&text);
    names[i] = text;
  }
  PyObject* made = PyModule_Create(&module);
  if (!made || PyModule_AddType(made, &nothing_type) < 0) return NULL;
  return made;
}
