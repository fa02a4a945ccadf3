// Which ways of exchange the objects of a type offer, found once per type.
#pragma once

#include <Python.h>

#include "array/dlpack.h"

namespace ferrule::python {

// Something that an object tells about itself without an argument, as a getter or a method: whether it holds.
class Question {
 public:
  Question() = default;
  Question(PyTypeObject* type, const char* name);
  // 1, 0 (also where the type does not know the question), or -1 with a Python error set.
  int ask(PyObject* object) const {
    if (method_ != nullptr) return answer(method_(object, nullptr));
    if (getter_ != nullptr) return answer(getter_(object, closure_));
    return name_ == nullptr ? 0 : ask_by_name(object);
  }

 private:
  static int answer(PyObject* result);
  int ask_by_name(PyObject* object) const;

  PyCFunction method_ = nullptr;
  getter getter_ = nullptr;
  void* closure_ = nullptr;
  const char* name_ = nullptr;  // where neither of them can be entered directly
};

// Valid as long as the type lives and is not changed.
struct TypeFacts {
  const dlpack::Exchange* exchange = nullptr;  // of our major version, with the functions that we call
  bool no_array = false;                       // a scalar, text, list or other builtin kind: never asked for an array
  bool dlpack = false;                         // may have __dlpack__
  bool buffer = false;                         // has the buffer protocol
  bool python_buffer = false;                  // and implements it in Python
  bool always_writable = false;  // there are no read-only objects of the type, which tables do not always tell
  bool interface = false;        // may have __array_interface__
  // What the memory of a tensor does not show: its values are to be conjugated or negated, or their use is recorded.
  Question is_conj, is_neg, requires_grad;
};

// By value: asking an object may run code that has the table entry replaced.
TypeFacts facts_of(PyTypeObject* type);

}  // namespace ferrule::python
