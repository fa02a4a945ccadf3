#include "problem.h"

#include <fmt/format.h>

#include <string>

#include "../common/errors.h"
#include "call/refuse.h"
#include "element_types.h"

namespace ferrule::python {
namespace {

std::string text_of_object(PyObject* text) {
  if (text == nullptr) {
    PyErr_Clear();  // an object whose own __str__ or __repr__ fails is still named by its type
    return "?";
  }
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  std::string result = utf8 != nullptr ? std::string(utf8, static_cast<size_t>(size)) : "?";
  if (utf8 == nullptr) PyErr_Clear();
  Py_DECREF(text);
  return result;
}

std::string dtype_sentence(const Target& target, const Problem& problem) {
  const ArgPlan& arg = target.plan().args[static_cast<size_t>(problem.arg)];
  const char* name = arg.declared->name;
  PyArray_Descr* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(problem.object));
  if (arg.record != nullptr) return record_difference(name, *arg.record, descr);
  const std::string got = text_of_object(PyObject_Str(reinterpret_cast<PyObject*>(descr)));
  if (!PyArray_ISNBO(descr->byteorder))
    return fmt::format("'{}' has dtype {} in foreign byte order, but native {} is expected; pass {}.astype('{}').",
                       name, got, name_of(arg.dtype), name, name_of(arg.dtype));
  std::string missing;
  if (arg.dtype == DType::BF16 || is_float8(arg.dtype)) {
    PyObject* type = ml_class(arg.dtype, true);
    if (type == nullptr) missing = "; its dtype comes from ml_dtypes, which is not installed";
    Py_XDECREF(type);
    PyErr_Clear();  // the refusal is what the caller hears of
  }
  return fmt::format("'{}' has dtype {}, but {} is expected{}.", name, got, name_of(arg.dtype), missing);
}

std::string not_an_array(const ArgPlan& arg, PyObject* object) {
  const char* name = arg.declared->name;
  std::string hint;
  if (PyList_Check(object) || PyTuple_Check(object) || PyRange_Check(object) ||
      (!PyType_Check(object) && PyObject_HasAttrString(object, "__array__")))
    hint = fmt::format("; pass numpy.asarray({})", name);
  else if (PyCapsule_CheckExact(object))
    hint = fmt::format("; pass ferrule.from_dlpack({})", name);
  return fmt::format("'{}' is {}, but an array of dtype {} is expected{}.", name, kind_of_object(object),
                     name_of(arg.dtype), hint);
}

const char* scalar_word(const ArgPlan& arg) {
  if (arg.dtype == DType::Bool) return "a bool";
  if (is_integer(arg.dtype)) return "an integer";
  return is_float(arg.dtype) ? "a real number" : "a complex number";
}

std::string signature(const Target& target) { return signature_text(*target.plan().module); }

struct Sentence {
  std::string text;
  Builtin builtin;
};

Sentence sentence(const Target& target, const Problem& p) {
  const CallPlan& plan = target.plan();
  const ArgPlan* arg = p.arg >= 0 ? &plan.args[static_cast<size_t>(p.arg)] : nullptr;
  const char* name = arg != nullptr ? arg->declared->name : "";
  switch (p.wrong) {
    case Wrong::TooMany:
      return {fmt::format("{} arguments are given by position, but at most {} are expected; the signature is {}.",
                          p.got, plan.n_positional, signature(target)),
              Builtin::Type};
    case Wrong::UnknownName:
      return {fmt::format("there is no argument '{}'; the signature is {}.", text_of_object(Py_NewRef(p.object)),
                          signature(target)),
              Builtin::Type};
    case Wrong::Doubled:
      return {
          fmt::format("'{}' is given twice, by position and by name; the signature is {}.", name, signature(target)),
          Builtin::Type};
    case Wrong::Missing:
      return {fmt::format("'{}' is missing; the signature is {}.", name, signature(target)), Builtin::Type};
    case Wrong::PositionalOnly:
      return {
          fmt::format("'{}' is positional-only, but is given by name; the signature is {}.", name, signature(target)),
          Builtin::Type};
    case Wrong::NotAnArray:
      return {not_an_array(*arg, p.object), Builtin::Type};
    case Wrong::Masked:
      return {fmt::format("'{}' is a masked array, whose mask would be ignored; pass {}.filled(value).", name, name),
              Builtin::Type};
    case Wrong::Subclass:
      return {fmt::format("'{}' is {}, whose operators differ from those of numpy.ndarray; pass numpy.asarray({}).",
                          name, kind_of_object(p.object), name),
              Builtin::Type};
    case Wrong::ArrayDtype:
      return {dtype_sentence(target, p), Builtin::Type};
    case Wrong::ScalarKind:
      return {
          fmt::format("'{}' is {}, but {} of type {} is expected{}.", name, kind_of_object(p.object), scalar_word(*arg),
                      name_of(arg->dtype), plan.strict_scalars ? " and strict_scalars forbids conversions" : ""),
          Builtin::Type};
    case Wrong::ScalarRange:
      return {fmt::format("'{}' = {} is out of range for {}.", name, short_repr(p.object), name_of(arg->dtype)),
              Builtin::Overflow};
    case Wrong::StaticValue: {
      PyObject* fixed = target.args[static_cast<size_t>(p.arg)].fixed;
      return {fmt::format("'{}' is {}, but this program is compiled for {}.", name, short_repr(p.object),
                          fixed != nullptr ? short_repr(fixed) : "another value"),
              Builtin::Value};
    }
    case Wrong::GlobalChanged:
      return {fmt::format("the global or captured variable {} has changed since the program was compiled.",
                          p.object != nullptr ? short_repr(p.object) : ""),
              Builtin::Value};
    case Wrong::HiddenMissing:
      return {fmt::format("the global or captured array '{}' is not there.", name), Builtin::Type};
    case Wrong::SymbolKind:
      return {
          fmt::format("the size '{}' is {}, but an integer of 64 bits is expected.",
                      text_of_object(Py_NewRef(target.symbol_names[static_cast<size_t>(p.got)])), short_repr(p.object)),
          Builtin::Type};
    case Wrong::Nothing:
      break;
  }
  return {"the call was refused without a reason; please report it.", Builtin::Value};
}

}  // namespace

std::string short_repr(PyObject* object) {
  std::string text = text_of_object(PyObject_Repr(object));
  return text.size() > 80 ? text.substr(0, 77) + "..." : text;
}

std::string kind_of_object(PyObject* object) {
  if (object == Py_None) return "None";
  const std::string name = text_of_object(PyType_GetName(Py_TYPE(object)));
  const bool vowel = name.find_first_of("aeiouAEIOU") == 0 || name == "ndarray";
  return (vowel ? "an " : "a ") + name;
}

void raise_miss(const Target& target, const Frame& frame, const Problem& problem) {
  try {
    if (problem.wrong == Wrong::Nothing) return raise_from(refusal(target.plan(), frame));
    const Sentence s = sentence(target, problem);
    raise_from(user_error(fmt::format("{}(): {}", target.plan().module->name, s.text), s.builtin));
  } catch (...) {
    raise_current_exception();
  }
}

}  // namespace ferrule::python
