#include "result_memory.h"

#include <cstdlib>
#include <cstring>

#include "array/recycler.h"

namespace ferrule::python {
namespace {

// The most that is kept: FERRULE_RESULT_MEMORY in MiB, 256 where it is not set to a number.
size_t most_kept() {
  const char* text = std::getenv("FERRULE_RESULT_MEMORY");
  char* end = nullptr;
  const long long given = text != nullptr ? std::strtoll(text, &end, 10) : -1;
  const bool valid = text != nullptr && end != text && *end == 0 && given >= 0 && given < (1LL << 40);
  return static_cast<size_t>(valid ? given : 256) << 20;
}

// Never destroyed: arrays may die after everything else.
Recycler& recycler() {
  static Recycler* const only = new Recycler(most_kept());
  return *only;
}

// NumPy frees an array through the handler that it carries (NEP 49). Memory that is not the recycler's came to the
// handler by growing or copying in NumPy, and is the system's.
void* handler_malloc(void*, size_t size) { return std::malloc(size != 0 ? size : 1); }

void* handler_calloc(void*, size_t count, size_t size) {
  return std::calloc(count != 0 ? count : 1, size != 0 ? size : 1);
}

void handler_free(void*, void* memory, size_t) {
  if (memory != nullptr && !recycler().give_back(memory)) std::free(memory);
}

void* handler_realloc(void*, void* memory, size_t size) {
  void* moved = nullptr;
  if (const size_t bytes = recycler().bytes_of(memory); bytes != 0) {
    moved = std::malloc(size != 0 ? size : 1);
    if (moved == nullptr) return nullptr;
    std::memcpy(moved, memory, bytes < size ? bytes : size);
    recycler().give_back(memory);
  } else {
    moved = std::realloc(memory, size != 0 ? size : 1);
  }
  return moved;
}

PyDataMem_Handler handler = {
    "ferrule results", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};

// Borrowed; made once. Null with a Python error set.
PyObject* handler_capsule() {
  static PyObject* const only = PyCapsule_New(&handler, "mem_handler", nullptr);
  return only;
}

// The bytes of a dense array that is worth recycling; 0 for others, also where they do not fit.
size_t large_bytes(PyArray_Descr* descr, int rank, const int64_t* shape) {
  if (PyDataType_REFCHK(descr)) return 0;  // memory of objects must be cleared
  size_t bytes = static_cast<size_t>(PyDataType_ELSIZE(descr));
  for (int axis = 0; axis < rank; ++axis)
    if (shape[axis] < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(shape[axis]), &bytes)) return 0;
  return bytes >= Recycler::kLeast && bytes <= static_cast<size_t>(PTRDIFF_MAX) ? bytes : 0;
}

PyObject* keep_result_memory(PyObject*, PyObject* most) {
  const long long bytes = PyLong_AsLongLong(most);
  if (bytes == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (bytes >= 0) recycler().limit(static_cast<size_t>(bytes));
  return PyLong_FromSize_t(recycler().kept_bytes());
}

PyMethodDef methods[] = {
    {"_keep_result_memory", keep_result_memory, METH_O,
     "_keep_result_memory(most, /)\n--\n\nThe most bytes of dead results that are kept for new ones; a negative number "
     "changes nothing. Returns how many are kept."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* array_for_result(PyArray_Descr* descr, int rank, const int64_t* shape) {
  const auto* extents = reinterpret_cast<const npy_intp*>(shape);
  const size_t bytes = large_bytes(descr, rank, shape);
  PyObject* const capsule = bytes != 0 ? handler_capsule() : nullptr;
  void* const memory = capsule != nullptr ? recycler().take(bytes) : nullptr;
  if (bytes != 0 && capsule == nullptr) return nullptr;
  Py_INCREF(descr);
  // Where the recycler has none NumPy says so itself.
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, extents, nullptr, memory,
                                         memory != nullptr ? NPY_ARRAY_CARRAY : 0, nullptr);
  if (memory == nullptr) return array;
  if (array == nullptr) {
    recycler().give_back(memory);
    return nullptr;
  }
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  fields->mem_handler = Py_NewRef(capsule);
  PyArray_ENABLEFLAGS(reinterpret_cast<PyArrayObject*>(array), NPY_ARRAY_OWNDATA);
  return array;
}

bool add_result_memory(PyObject* module) { return PyModule_AddFunctions(module, methods) == 0; }

}  // namespace ferrule::python
