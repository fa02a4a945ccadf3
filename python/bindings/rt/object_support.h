// What both callable types do alike.
#pragma once

#include <Python.h>
#include <structmember.h>

namespace ferrule::python {

// For __init_subclass__: before Python 3.12 a class made by a `class` statement does not inherit the vectorcall of its
// base and calls would go through a tuple. Classes that define __call__ themselves keep theirs.
inline void inherit_vectorcall(PyTypeObject* type, PyTypeObject* base) {
  if (type->tp_call == base->tp_call && type->tp_vectorcall_offset == base->tp_vectorcall_offset)
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

}  // namespace ferrule::python
