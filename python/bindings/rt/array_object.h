// The Python type fr.Array: memory of its own, of a file, or lent by another object, and views of those.
#pragma once

#include <Python.h>

#include "array/array.h"

namespace ferrule::python {

// Makes the type and adds it to a module; false with a Python error set.
bool add_array_type(PyObject* module);

// Adds asarray() and from_dlpack(); false with a Python error set.
bool add_array_functions(PyObject* module);

// The array of an fr.Array; null for any other object.
const Array* array_of(PyObject* object);

// A new fr.Array; null with a Python error set.
PyObject* make_array_object(Array array);

// The strides of an fr.Array in elements, one per axis; null where one is no multiple of the item size.
const int64_t* element_strides_of(PyObject* object);

// The fr.Array over whatever the object offers: itself, an ndarray, or what foreign_array.h reads. Null with a Python
// error set, which names the function.
PyObject* as_array(PyObject* object, const char* function, const char* argument);

// The methods by which others read an fr.Array, for its type.
PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* names);
PyObject* array_dlpack_device(PyObject* self, PyObject* unused);
PyObject* array_interface(PyObject* self, void* unused);
int array_get_buffer(PyObject* self, Py_buffer* buffer, int flags);

// A new reference to the capsule of the type's C exchange table.
PyObject* exchange_capsule();

// a[index], without a copy; a NumPy scalar where integers select one element.
PyObject* array_subscript(PyObject* self, PyObject* index);

}  // namespace ferrule::python
