/* Counts what a thread allocates while it makes calls: preloaded, so that it stands before the system's allocator. */
#include <stddef.h>

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static __thread long count __attribute__((tls_model("initial-exec")));

void* malloc(size_t size) {
  ++count;
  return __libc_malloc(size);
}

void* calloc(size_t n, size_t size) {
  ++count;
  return __libc_calloc(n, size);
}

void* realloc(void* memory, size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}

void* memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = aligned_alloc(alignment, size);
  return *out == NULL ? 12 : 0; /* ENOMEM */
}

/* Weak: the compiler that a child starts has no Python. */
#pragma weak PyObject_Vectorcall
#pragma weak PyTuple_Size
#pragma weak PyTuple_GetItem
#pragma weak Py_DecRef
void* PyObject_Vectorcall(void* callable, void* const* args, size_t nargs, void* names);
ptrdiff_t PyTuple_Size(void* tuple);
void* PyTuple_GetItem(void* tuple, ptrdiff_t i);
void Py_DecRef(void* object);

/* Allocations of so many calls with the arguments of a tuple, the last of them by the names of another; -1 where a call
   fails, with its exception set. */
long allocations_of_calls(void* callable, void* given, void* names, long calls) {
  void* args[16];
  const ptrdiff_t n_args = PyTuple_Size(given), n_names = PyTuple_Size(names);
  for (ptrdiff_t i = 0; i < n_args && i < 16; ++i) args[i] = PyTuple_GetItem(given, i);
  const long before = count;
  for (long k = 0; k < calls; ++k) {
    void* result = PyObject_Vectorcall(callable, args, (size_t)(n_args - n_names), n_names > 0 ? names : NULL);
    if (result == NULL) return -1;
    Py_DecRef(result);
  }
  return count - before;
}
