#include "signature/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace ferrule {
namespace {

constexpr int64_t kMostFields = 65535;

[[noreturn]] void refuse(const Signature& s, const std::string& text) {
  throw user_error(fmt::format("The signature of '{}': {}", s.name, text), Builtin::Value);
}

// `what`: "the scalar", "the scalar return"; `instead`: what else to declare.
void check_scalar_type(const Signature& s, DType dtype, const std::string& what) {
  if (dtype == DType::Record) refuse(s, fmt::format("{} is a struct; give it the kind 'struct'.", what));
  if (dtype == DType::Object) refuse(s, fmt::format("{} is an object; give it the kind 'pyobject'.", what));
  if (is_float8(dtype))
    refuse(s, fmt::format("{} has dtype {}, which is for arrays alone; declare float32.", what, name_of(dtype)));
}

void check_record(const Signature& s, const Record& record, const std::string& what) {
  const auto broken = [&](const std::string& text) { refuse(s, fmt::format("{}: {}", what, text)); };
  if (record.fields.empty()) broken("a struct has fields; give a structured dtype.");
  if (record.fields.size() > kMostFields)
    broken(fmt::format("the struct has {} fields; at most {} are possible.", record.fields.size(), kMostFields));
  if (record.bytes <= 0 || record.bytes > INT32_MAX) broken(fmt::format("a struct of {} bytes.", record.bytes));
  std::set<std::string> seen;
  for (const RecordField& f : record.fields) {
    if (f.dtype == DType::Record || f.dtype == DType::Object)
      broken(fmt::format("the field '{}' is no number; structs hold numbers alone.", f.name));
    if (f.count <= 0 || f.offset < 0 || f.offset > record.bytes ||
        f.count > (record.bytes - f.offset) / item_size(f.dtype))
      broken(fmt::format("the field '{}' does not lie within the {} bytes of the struct.", f.name, record.bytes));
    if (!seen.insert(f.name).second) broken(fmt::format("the field '{}' comes twice.", f.name));
  }
}

void check_array(const Signature& s, const SignatureArgument& a) {
  const auto rank = static_cast<int>(a.shape.size());
  if (rank > FR_MAX_RANK)
    refuse(s, fmt::format("'{}' has {} axes; at most {} are supported.", a.name, rank, FR_MAX_RANK));
  const bool strided = a.order == Order::Inner || a.order == Order::Any;
  if (!a.strides.empty() && !strided)
    refuse(s, fmt::format("'{}' has strides but is dense; give it the order 'inner' or 'any'.", a.name));
  if (!a.strides.empty() && a.strides.size() != a.shape.size())
    refuse(s, fmt::format("'{}' has {} strides but {} extents.", a.name, a.strides.size(), rank));
  if (a.order == Order::Inner && (a.inner_axis < 0 || a.inner_axis >= rank))
    refuse(s, fmt::format("'{}' has no axis {} of unit stride: its rank is {}.", a.name, a.inner_axis, rank));
  if (!a.default_text.empty() && a.default_text != "None")
    refuse(s, fmt::format("the array '{}' has the default {}; only None is possible.", a.name, a.default_text));
  if (a.dtype == DType::Record) check_record(s, a.record, fmt::format("the array '{}'", a.name));
  if (a.dtype == DType::Object && a.intent != Intent::In)
    refuse(s, fmt::format("the array '{}' of objects is written, but native code cannot own objects; return them.",
                          a.name));
}

void check_callback(const Signature& s, const SignatureArgument& a) {
  std::set<std::string> seen;
  for (const SignatureArgument& p : a.parameters) {
    const std::string what = fmt::format("the parameter '{}' of the callback '{}'", p.name, a.name);
    if (p.name.empty() || !seen.insert(p.name).second)
      refuse(s, fmt::format("the parameters of the callback '{}' need names of their own, but '{}' comes twice.",
                            a.name, p.name));
    if (p.kind != SignatureKind::Array && p.kind != SignatureKind::Scalar && p.kind != SignatureKind::Object)
      refuse(s, what + " is neither an array nor a scalar nor a pyobject.");
    if (p.optional || !p.default_text.empty())
      refuse(s, what + " is optional; callbacks are called with every parameter.");
    if (p.kind == SignatureKind::Scalar) check_scalar_type(s, p.dtype, what);
    if (p.kind != SignatureKind::Array) continue;
    if (p.order != Order::C) refuse(s, what + " is not in C order.");
    if (p.dtype == DType::Object || p.dtype == DType::Record)
      refuse(s, fmt::format("{} is an array of {}s; callbacks take arrays of numbers.", what, name_of(p.dtype)));
    check_array(s, p);
  }
  if (!a.result || *a.result == DType::Object) return;
  check_scalar_type(s, *a.result, fmt::format("the result of the callback '{}'", a.name));
}

void check_default(const Signature& s, const SignatureArgument& a) {
  const std::string& text = a.default_text;
  if (text == "None" && !a.optional && a.kind != SignatureKind::Object)
    refuse(s, fmt::format("'{}' has the default None but is not optional.", a.name));
  if (text.empty() || text == "None") return;
  const bool quoted = text.find_first_of("'\"") < 2;
  if (a.kind == SignatureKind::String && !quoted)
    refuse(s, fmt::format("the string '{}' has the default {}; give text or bytes.", a.name, text));
  const char* kind = a.kind == SignatureKind::Record     ? "struct"
                     : a.kind == SignatureKind::Object   ? "pyobject"
                     : a.kind == SignatureKind::Callback ? "callback"
                     : a.kind == SignatureKind::Pointers ? "array of pointers"
                                                         : nullptr;
  if (kind != nullptr)
    refuse(s, fmt::format("the {} '{}' has the default {}; only None is possible.", kind, a.name, text));
}

void check_argument(const Signature& s, const SignatureArgument& a) {
  check_default(s, a);
  if (a.kind == SignatureKind::Array) return check_array(s, a);
  const bool pointers = a.kind == SignatureKind::Pointers;
  if (!a.shape.empty() || !a.strides.empty())
    refuse(s, fmt::format("the scalar '{}' has a shape; make it an array.", a.name));
  if (a.intent != Intent::In && !pointers)
    refuse(s, fmt::format("the scalar '{}' is written; make it a return or an array of one element.", a.name));
  if (a.kind == SignatureKind::Scalar) check_scalar_type(s, a.dtype, fmt::format("the scalar '{}'", a.name));
  if (a.kind == SignatureKind::Record) {
    check_record(s, a.record, fmt::format("the struct '{}'", a.name));
    if (a.optional)
      refuse(s, fmt::format("the struct '{}' is passed by value and cannot be optional; make it an array.", a.name));
  }
  if (a.kind == SignatureKind::Callback) check_callback(s, a);
  if (pointers && (a.dtype == DType::Record || a.dtype == DType::Object))
    refuse(s, fmt::format("'{}' points to {}s; pointers lead to numbers.", a.name, name_of(a.dtype)));
}

void check_return(const Signature& s, const SignatureReturn& r) {
  if (r.kind == SignatureKind::Array) {
    if (r.dtype == DType::Record) check_record(s, r.record, fmt::format("the return '{}'", r.name));
    return;
  }
  if (!r.shape.empty()) refuse(s, fmt::format("the scalar return '{}' has a shape; make it an array.", r.name));
  if (r.kind == SignatureKind::Scalar) check_scalar_type(s, r.dtype, fmt::format("the scalar return '{}'", r.name));
  if (r.kind == SignatureKind::Record) check_record(s, r.record, fmt::format("the return '{}'", r.name));
  if (r.kind == SignatureKind::String || r.kind == SignatureKind::Callback || r.kind == SignatureKind::Pointers)
    refuse(s, fmt::format("the return '{}' is neither an array nor a scalar, a struct or a pyobject.", r.name));
}

}  // namespace

int64_t alignment_of(const Record& record) {
  int64_t largest = 1;
  for (const RecordField& f : record.fields) {
    const int64_t own = item_size(f.dtype) / (is_complex(f.dtype) ? 2 : 1);
    if (f.offset % own != 0) return 1;
    largest = std::max(largest, own);
  }
  return record.bytes % largest == 0 ? largest : 1;
}

void check_kinds(const Signature& signature) {
  for (const SignatureArgument& a : signature.arguments) check_argument(signature, a);
  for (const SignatureReturn& r : signature.returns) check_return(signature, r);
  if (!signature.coerce.empty() && signature.coerce != "asarray")
    refuse(signature, fmt::format("coerce is '{}', but only 'asarray' is possible.", signature.coerce));
}

const SignatureArgument* length_parameter(const Signature& signature, const std::string& text) {
  constexpr std::string_view kWord = ".length";
  if (text.size() <= kWord.size() || !text.ends_with(kWord)) return nullptr;
  const SignatureArgument* a = signature.argument(text.substr(0, text.size() - kWord.size()));
  const bool has_length = a != nullptr && (a->kind == SignatureKind::String || a->kind == SignatureKind::Pointers);
  return has_length ? a : nullptr;
}

}  // namespace ferrule
