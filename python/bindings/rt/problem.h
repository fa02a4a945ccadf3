// What a call got wrong as far as Python objects go; the sentence is made from it only where an error is wanted.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "call/frame.h"
#include "target.h"

namespace ferrule::python {

enum class Wrong : uint8_t {
  Nothing,
  TooMany,      // positional arguments; got: how many
  UnknownName,  // object: the keyword
  Doubled,      // argument given by position and by keyword
  Missing,
  PositionalOnly,
  NotAnArray,  // object: what was given
  Masked,
  Subclass,       // object: an array whose type computes in its own way
  ArrayDtype,     // object: the array
  ScalarKind,     // object: what was given
  ScalarRange,    // object: what was given
  StaticValue,    // object: what was given
  GlobalChanged,  // object: the key of the variable
  HiddenMissing,
};

// Valid while the call runs: the objects are borrowed.
struct Problem {
  Wrong wrong = Wrong::Nothing;  // arg, object and got are set with it
  bool borrows = false;          // the call holds something of arguments that are not ndarrays (attempt.h)
  int32_t arg;
  PyObject* object;
  Py_ssize_t got;
};

// How an attempt to call ended. Miss: nothing happened, and Problem or Frame::mismatch tell why. Raised: a Python error
// is set.
enum class Outcome : uint8_t { Done, Miss, Raised };

// Sets the Python error for a miss.
void raise_miss(const Target& target, const Frame& frame, const Problem& problem);

}  // namespace ferrule::python
