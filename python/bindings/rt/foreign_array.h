// Arrays out of any Python object that offers one: what DLPack, the buffer protocol and the array interface say of it,
// without reading or copying an element.
#pragma once

#include <Python.h>

#include <memory>
#include <optional>
#include <string>

#include "array/tensor.h"
#include "base/error.h"
#include "type_facts.h"

namespace ferrule::python {

// Who asks for an array, for messages: "scale(): 'x' is on CUDA device 0, ...".
struct Asked {
  const char* function;
  const char* argument;
  bool written = false;  // its elements will be changed
  bool buffers = true;   // objects with nothing but the buffer protocol are arrays, too
};

enum class Taken : uint8_t { Done, NoArray, Raised };

// What an object offers, in the order __dlpack__, C exchange table, buffer protocol, array interface; never more than
// the first that it has. NoArray: it has none, or is a scalar; no Python error. Raised: it has one that was refused, or
// failed; the Python error names function and argument and has the exporter's own as its cause. May run Python code.
Taken take_foreign(PyObject* object, const TypeFacts& facts, const Asked& asked, Array& array);

// The same for __dlpack__ alone; `copy` is passed on where it is not null. The object has the attribute.
struct DlpackRequest {
  PyObject* copy = nullptr;  // True or False
  bool copied = false;       // afterwards: the exporter says that it made a copy
};
bool take_through_dlpack(PyObject* object, const TypeFacts& facts, const Asked& asked, DlpackRequest& request,
                         Array& array);

// The owning entry of the type's C exchange table, which there is.
bool take_through_table(PyObject* object, const TypeFacts& facts, const Asked& asked, Array& array);

// The tensor of a capsule, which is renamed and so used up. The reference to it is taken, and dropped as soon as the
// tensor is ours: before anything is refused and given back.
bool take_capsule(PyObject* capsule, const Asked& asked, DlpackRequest& request, Array& array);

// The element type of a buffer that was got with PyBUF_FULL_RO; empty with the refusal set for what is no strided
// array.
std::optional<DType> type_of_buffer(const Py_buffer& buffer, const Asked& asked);

bool take_through_buffer(PyObject* object, const Asked& asked, Array& array);

bool take_through_interface(PyObject* object, PyObject* interface, const Asked& asked, Array& array);

// False with a Python error set: the ndarray is a masked one, which exports its data without the mask.
bool shows_its_mask(PyObject* ndarray, const Asked& asked);

// An ndarray, which stays alive with the array.
bool take_ndarray(PyObject* object, const Asked& asked, Array& array);

// Keeps an object alive; may be dropped by any thread, with or without the interpreter's lock, and leaks after the
// interpreter's end.
std::shared_ptr<void> owner_of(PyObject* object);

// Calls the deleter of a tensor, which may run Python code, and leaves a pending error of this thread as it is.
// Deleters take the interpreter's lock themselves.
template <class Managed>
void give_back_tensor(Managed* tensor) {
  if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) return delete_tensor(tensor);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  delete_tensor(tensor);
  PyErr_Restore(type, value, trace);
}

// Runs `release` with the interpreter's lock and leaves a pending error as it is; does nothing where the interpreter
// has ended.
void with_interpreter(void (*release)(void*), void* what);

// Sets the Python error "f(): 'x' <text>"; an error that is set already becomes its cause.
void refuse(const Asked& asked, Builtin builtin, const std::string& text);

// Sets the Python error "f(): 'x' <what>: <text of the error that is set>" with that one as its cause. What is no
// failure of the exporter (KeyboardInterrupt, MemoryError) stays as it is.
void refuse_with_reason(const Asked& asked, Builtin builtin, const std::string& what);

// The same as a BufferError: "cannot be read through <way>".
void refuse_with_reason(const Asked& asked, const char* way);

}  // namespace ferrule::python
