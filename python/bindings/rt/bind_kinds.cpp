#include "bind_kinds.h"

#include <fmt/format.h>

#include "../common/errors.h"
#include "advice.h"
#include "bind_args.h"
#include "call/refuse.h"
#include "element_types.h"
#include "foreign_array.h"

namespace ferrule::python {
namespace {

Outcome take_struct(const Target& target, const ArgPlan& arg, PyArray_Descr* descr, void* data, Frame& frame) {
  if (!has_elements_of(arg, descr)) {
    const std::string text = record_difference(arg.declared->name, *arg.record, descr);
    raise_from(user_error(fmt::format("{}(): {}", target.plan().module->name, text), Builtin::Type));
    return Outcome::Raised;
  }
  frame.pointers[arg.index] = data;
  return Outcome::Done;
}

Outcome bind_struct(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame) {
  if (PyArray_IsScalar(object, Void)) {
    auto* value = reinterpret_cast<PyVoidScalarObject*>(object);
    return take_struct(target, arg, reinterpret_cast<PyArray_Descr*>(value->descr), value->obval, frame);
  }
  if (!PyArray_Check(object))
    return refuse_argument(target, arg, Builtin::Type,
                           fmt::format("is {}, but a struct is expected; pass a scalar of a structured numpy.dtype.",
                                       kind_of_object(object)));
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const int masked = is_masked_array(object);
  if (masked < 0) return Outcome::Raised;
  if (masked == 1)
    return refuse_argument(target, arg, Builtin::Type, "is a masked array, whose mask would be ignored.");
  if (PyArray_NDIM(array) != 0)
    return refuse_argument(
        target, arg, Builtin::Value,
        fmt::format("has shape {}, but one struct is expected.", tuple_text(shape_of(array), PyArray_NDIM(array))));
  return take_struct(target, arg, PyArray_DESCR(array), PyArray_DATA(array), frame);
}

Outcome bind_string(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame) {
  const char* data = nullptr;
  Py_ssize_t length = 0;
  if (PyUnicode_Check(object)) {
    data = PyUnicode_AsUTF8AndSize(object, &length);
    if (data == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) return Outcome::Raised;
      return refuse_argument(target, arg, Builtin::Value,
                             "holds lone surrogates, which UTF-8 does not have; encode it to bytes.");
    }
  } else if (PyBytes_Check(object)) {
    data = PyBytes_AS_STRING(object);
    length = PyBytes_GET_SIZE(object);
  } else {
    const bool buffer = PyObject_CheckBuffer(object) != 0 && !PyArray_Check(object);
    return refuse_argument(target, arg, Builtin::Type,
                           fmt::format("is {}, but str or bytes is expected{}.", described_object(object),
                                       buffer ? fmt::format("; pass bytes({})", arg.declared->name) : ""));
  }
  static_assert(sizeof(FrString) <= sizeof(ScalarSlot));
  write_as(&frame.scalars()[arg.index], FrString{data, length});
  frame.pointers[arg.index] = &frame.scalars()[arg.index];
  return Outcome::Done;
}

Outcome bind_callable(const Target& target, const ArgPlan& arg, PyObject* object, Frame& frame) {
  if (PyCallable_Check(object) == 0)
    return refuse_argument(target, arg, Builtin::Type,
                           fmt::format("is {}, but a callable is expected.", kind_of_object(object)));
  frame.pointers[arg.index] = object;
  return Outcome::Done;
}

}  // namespace

Outcome refuse_argument(const Target& target, const ArgPlan& arg, Builtin builtin, const std::string& text) {
  refuse({target.plan().module->name, arg.declared->name}, builtin, text);
  return Outcome::Raised;
}

Outcome bind_kind(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  Frame& frame = attempt.frame;
  if (object == Py_None && arg.optional) {
    bind_none(arg, frame);
    return Outcome::Done;
  }
  frame.arrays[arg.index].shape = nullptr;
  switch (arg.kind) {
    case FR_ARG_RECORD:
      return bind_struct(target, arg, object, frame);
    case FR_ARG_STRING:
      return bind_string(target, arg, object, frame);
    case FR_ARG_CALLBACK:
      return bind_callable(target, arg, object, frame);
    case FR_ARG_POINTERS:
      return bind_pointers(target, arg, object, attempt);
    default:
      frame.pointers[arg.index] = object;
      return Outcome::Done;
  }
}

Outcome bind_list(const Target& target, const ArgPlan& arg, PyObject* object, Attempt& attempt) {
  if (attempt.problem.borrows && attempt.borrowed().find(arg.index) != nullptr)
    return bind_foreign_array(target, arg, object, attempt);
  if (arg.written)
    return refuse_argument(
        target, arg, Builtin::Type,
        fmt::format("is {}, but the program writes to it and a copy would not show what was written; "
                    "pass an array.",
                    kind_of_object(object)));
  PyArray_Descr* descr = new_descr(arg.dtype, "", arg.declared->name);
  if (descr == nullptr) return Outcome::Raised;
  PyObject* plain = PyArray_FROM_O(object);
  auto* array = reinterpret_cast<PyArrayObject*>(plain);
  const bool fits = plain != nullptr && (PyArray_SIZE(array) == 0 || PyArray_CanCastTypeTo(PyArray_DESCR(array), descr,
                                                                                           NPY_SAME_KIND_CASTING) != 0);
  if (plain == nullptr)
    refuse_with_reason({target.plan().module->name, arg.declared->name}, Builtin::Value,
                       fmt::format("is {} that cannot become an array", kind_of_object(object)));
  else if (!fits)
    refuse_argument(target, arg, Builtin::Type,
                    fmt::format("is {} of {} values, which cannot become {}.", kind_of_object(object),
                                dtype_text(PyArray_DESCR(array)), name_of(arg.dtype)));
  PyObject* copy = nullptr;
  const int order = arg.layout == FR_LAYOUT_F ? NPY_ARRAY_FARRAY_RO : NPY_ARRAY_CARRAY_RO;
  if (fits)  // takes the descriptor
    copy = PyArray_FromArray(array, descr, order | NPY_ARRAY_FORCECAST);
  else
    Py_DECREF(descr);
  Py_XDECREF(plain);
  if (copy == nullptr) return Outcome::Raised;
  const int warned =
      PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%s(): '%s' is a %s, which is copied to an array at each call.",
                       target.plan().module->name, arg.declared->name, Py_TYPE(object)->tp_name);
  auto* made = reinterpret_cast<PyArrayObject*>(copy);
  const auto rank = static_cast<size_t>(PyArray_NDIM(made));
  Array taken{owner_of(copy),
              PyArray_DATA(made),
              arg.dtype,
              {shape_of(made), shape_of(made) + rank},
              {strides_of(made), strides_of(made) + rank},
              false};
  Py_DECREF(copy);
  if (warned < 0) return Outcome::Raised;
  attempt.borrowed().add(arg.index, std::move(taken));
  attempt.borrowed().saw_python = true;
  return bind_foreign_array(target, arg, object, attempt);
}

}  // namespace ferrule::python
