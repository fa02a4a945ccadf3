// Tensors by hand, through the C exchange table that their type has: `use(torch.Tensor)` once, then `call3(a0, a1, a2)`
// checks type, device, dtype, rank, layout, equal extents and overlap; not whether a tensor is negated or needs
// gradients.
#define PY_SSIZE_T_CLEAN
#include <ATen/dlpack.h>
#include <Python.h>

static PyObject* type;
static const DLPackExchangeAPI* table;

static PyObject* use(PyObject*, PyObject* given) {
  PyObject* capsule = PyObject_GetAttrString(given, "__dlpack_c_exchange_api__");
  if (!capsule) return nullptr;
  table = static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);
  if (!table) return nullptr;
  type = Py_NewRef(given);
  Py_RETURN_NONE;
}

static PyObject* call3(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3) return PyErr_Format(PyExc_TypeError, "3 arguments are expected.");
  char* data[3];
  int64_t extent = 0;
  for (int i = 0; i < 3; ++i) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(args[i])) != type)
      return PyErr_Format(PyExc_TypeError, "Argument %d is no tensor.", i);
    DLTensor t;
    if (table->dltensor_from_py_object_no_sync(args[i], &t) != 0) return nullptr;
    if (t.device.device_type != kDLCPU || t.dtype.code != kDLFloat || t.dtype.bits != 64 || t.dtype.lanes != 1 ||
        t.ndim != 1 || (t.shape[0] > 1 && t.strides[0] != 1))
      return PyErr_Format(PyExc_TypeError, "Argument %d is no fitting tensor.", i);
    if (i > 0 && t.shape[0] != extent) return PyErr_Format(PyExc_ValueError, "Argument %d has another extent.", i);
    extent = t.shape[0];
    data[i] = static_cast<char*>(t.data) + t.byte_offset;
  }
  const size_t bytes = size_t(extent) * sizeof(double);
  for (int i = 0; i < 2; ++i)
    if (data[i] < data[2] + bytes && data[2] < data[i] + bytes)
      return PyErr_Format(PyExc_ValueError, "Argument %d overlaps the result.", i);
  *reinterpret_cast<double*>(data[2]) = double(extent);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"use", use, METH_O, nullptr},
    {"call3", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call3)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "byhand_torch", nullptr, -1, methods};

PyMODINIT_FUNC PyInit_byhand_torch() { return PyModule_Create(&module); }
