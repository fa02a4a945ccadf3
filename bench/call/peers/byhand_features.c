/* The other rows by hand, by position only: scalars, nested tuples, results, a workspace, state, a callback. */
#include <stddef.h>
#include <stdint.h>

#include "byhand_check.h"

static int count_is(Py_ssize_t nargs, Py_ssize_t wanted) {
  if (nargs == wanted) return 1;
  PyErr_Format(PyExc_TypeError, "%zd arguments are expected.", wanted);
  return 0;
}

static PyObject* scalars(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)self;
  if (!count_is(nargs, 6)) return NULL;
  npy_intp extent = 0;
  char* data[3];
  for (int i = 0; i < 3; ++i) {
    data[i] = check_array(args[i], i, i == 2, &extent);
    if (!data[i]) return NULL;
  }
  if (check_overlap(2, data, data[2], extent) < 0) return NULL;
  if (!PyFloat_Check(args[3]) || !PyLong_Check(args[4]) || !PyBool_Check(args[5])) {
    PyErr_SetString(PyExc_TypeError, "A float, an int and a bool are expected.");
    return NULL;
  }
  const long long k = PyLong_AsLongLong(args[4]);
  if (k == -1 && PyErr_Occurred()) return NULL;
  *(double*)data[2] = PyFloat_AS_DOUBLE(args[3]) + (double)k + (args[5] == Py_True);
  Py_RETURN_NONE;
}

static PyObject* nested(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)self;
  if (!count_is(nargs, 2)) return NULL;
  PyObject* outer = args[1];
  if (!PyTuple_Check(outer) || PyTuple_GET_SIZE(outer) != 2 || PyTuple_GET_ITEM(outer, 0) != Py_None ||
      !PyTuple_Check(PyTuple_GET_ITEM(outer, 1)) || PyTuple_GET_SIZE(PyTuple_GET_ITEM(outer, 1)) != 2) {
    PyErr_SetString(PyExc_TypeError, "Argument 1 is no (None, (array, array)).");
    return NULL;
  }
  PyObject* inner = PyTuple_GET_ITEM(outer, 1);
  npy_intp extent = 0;
  char* written = check_array(args[0], 0, 1, &extent);
  if (!written) return NULL;
  char* data[2];
  for (int i = 0; i < 2; ++i) {
    data[i] = check_array(PyTuple_GET_ITEM(inner, i), i + 1, 0, &extent);
    if (!data[i]) return NULL;
  }
  if (check_overlap(2, data, written, extent) < 0) return NULL;
  *(double*)written = (double)extent;
  Py_RETURN_NONE;
}

static PyObject* scalar_result(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)self;
  npy_intp extent = 0;
  if (!count_is(nargs, 1)) return NULL;
  char* data = check_array(args[0], 0, 0, &extent);
  return data ? PyFloat_FromDouble(*(double*)data) : NULL;
}

static PyObject* fresh_array(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)self;
  npy_intp extent = 0;
  if (!count_is(nargs, 1) || !check_array(args[0], 0, 0, &extent)) return NULL;
  PyObject* made = PyArray_SimpleNew(1, &extent, NPY_DOUBLE);
  if (made) *(double*)PyArray_DATA((PyArrayObject*)made) = (double)extent;
  return made;
}

static PyObject* callback(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
  (void)self;
  if (!count_is(nargs, 2)) return NULL;
  if (!PyCallable_Check(args[0]) || !PyFloat_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "A callable and a float are expected.");
    return NULL;
  }
  PyObject* x = PyFloat_FromDouble(PyFloat_AS_DOUBLE(args[1]));
  if (!x) return NULL;
  PyObject* y = PyObject_CallOneArg(args[0], x);
  Py_DECREF(x);
  if (!y) return NULL;
  const double value = PyFloat_AsDouble(y);
  Py_DECREF(y);
  return value == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(value);
}

/* An object that is called: it holds a count of its calls and the memory that it was given as a workspace. */
typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  int64_t calls;
  Py_buffer workspace;
  int busy;
} Handle;

static PyObject* count(Handle* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  npy_intp extent = 0;
  if (kwnames || !count_is(PyVectorcall_NARGS(nargsf), 1)) return NULL;
  char* data = check_array(args[0], 0, 1, &extent);
  if (!data) return NULL;
  *(double*)data = (double)++self->calls;
  Py_RETURN_NONE;
}

static PyObject* use_workspace(Handle* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  npy_intp extent = 0;
  if (kwnames || !count_is(PyVectorcall_NARGS(nargsf), 1)) return NULL;
  char* data = check_array(args[0], 0, 1, &extent);
  if (!data) return NULL;
  if (self->busy || self->workspace.len < 8 * extent || (uintptr_t)self->workspace.buf % 64) {
    PyErr_SetString(PyExc_ValueError, "The workspace does not fit, or is in use.");
    return NULL;
  }
  self->busy = 1;
  *(char*)self->workspace.buf = 1;
  *(double*)data = (double)extent;
  self->busy = 0;
  Py_RETURN_NONE;
}

static PyObject* handle_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* memory = NULL;
  if (kwargs || !PyArg_ParseTuple(args, "|O", &memory)) return NULL;
  Handle* self = (Handle*)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = (vectorcallfunc)(memory ? use_workspace : count);
  if (memory && PyObject_GetBuffer(memory, &self->workspace, PyBUF_WRITABLE) < 0) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject*)self;
}

static void handle_dealloc(Handle* self) {
  PyBuffer_Release(&self->workspace);
  Py_TYPE(self)->tp_free((PyObject*)self);
}

static PyTypeObject handle_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "byhand_features.Handle",
                                   .tp_basicsize = sizeof(Handle),
                                   .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                                   .tp_vectorcall_offset = offsetof(Handle, vectorcall),
                                   .tp_call = PyVectorcall_Call,
                                   .tp_dealloc = (destructor)handle_dealloc,
                                   .tp_new = handle_new};

#define METHOD(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {METHOD(scalars),     METHOD(nested),   METHOD(scalar_result),
                                METHOD(fresh_array), METHOD(callback), {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "byhand_features", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_byhand_features(void) {
  import_array();
  PyObject* made = PyModule_Create(&module);
  if (!made || PyModule_AddType(made, &handle_type) < 0) return NULL;
  return made;
}
