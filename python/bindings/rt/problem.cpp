#include "problem.h"

#include <fmt/format.h>

#include <string>

#include "../common/errors.h"
#include "advice.h"
#include "call/refuse.h"
#include "element_types.h"

namespace ferrule::python {
namespace {

std::string dtype_sentence(const Target& target, const Problem& problem) {
  const ArgPlan& arg = target.plan().args[static_cast<size_t>(problem.arg)];
  const char* name = arg.declared->name;
  PyArray_Descr* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(problem.object));
  if (arg.record != nullptr) return record_difference(name, *arg.record, descr);
  return fmt::format("'{}' has dtype {}, but {}{} is expected{}.", name, dtype_text(descr),
                     PyArray_ISNBO(descr->byteorder) ? "" : "native ", name_of(arg.dtype), dtype_advice(arg, descr));
}

std::string not_a_number(const CallPlan& plan, const ArgPlan& arg, PyObject* object) {
  return fmt::format("'{}' is {}, but {} is expected{}{}.", arg.declared->name, described_object(object),
                     number_text(arg.dtype), plan.strict_scalars ? " and strict_scalars forbids conversions" : "",
                     number_advice(arg.dtype, arg.declared->name, object));
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
      return {fmt::format("there is no argument {}; the signature is {}.", short_repr(p.object), signature(target)),
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
      return {fmt::format("'{}' is {}, but {} is expected{}.", name, kind_of_object(p.object), array_text(*arg),
                          array_advice(*arg, p.object)),
              Builtin::Type};
    case Wrong::Masked:
      return {fmt::format("'{}' is a masked array, whose mask would be ignored{}.", name, mask_advice(*arg)),
              Builtin::Type};
    case Wrong::Subclass:
      return {fmt::format("'{}' is {}, whose operators differ from those of numpy.ndarray; pass numpy.asarray({}).",
                          name, kind_of_object(p.object), name),
              Builtin::Type};
    case Wrong::ArrayDtype:
      return {dtype_sentence(target, p), Builtin::Type};
    case Wrong::ScalarKind:
      return {not_a_number(plan, *arg, p.object), Builtin::Type};
    case Wrong::ScalarRange:
      return {fmt::format("'{}' = {} is out of range for {}.", name, number_repr(p.object), name_of(arg->dtype)),
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
    case Wrong::Nothing:
      break;
  }
  return {"the call was refused without a reason; please report it.", Builtin::Value};
}

}  // namespace

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
