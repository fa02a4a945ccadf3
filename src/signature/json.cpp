#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "signature/signature.h"

namespace ferrule {
namespace {

using nlohmann::json;

constexpr int kDeepest = 200;  // what reads and writes it recurs
constexpr std::array<const char*, 7> kKinds = {"array",    "scalar",   "struct",  "string",
                                               "pyobject", "callback", "pointers"};
constexpr std::array<const char*, 4> kOrders = {"C", "F", "inner", "any"};
constexpr std::array<const char*, 3> kIntents = {"in", "out", "inout"};  // FrIntent 1, 2, 3

[[noreturn]] void wrong(const std::string& where, const std::string& text) {
  throw user_error(fmt::format("Signature JSON, {}: {}", where, text), Builtin::Value);
}

template <class T>
bool fits(const json& value) {
  if (value.is_number_unsigned()) return std::in_range<T>(value.get<uint64_t>());
  return value.is_number_integer() && std::in_range<T>(value.get<int64_t>());
}

// One object of the text. Every field is read by name; finish() refuses those that nobody asked for.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) wrong(where_, fmt::format("an object is expected, not {}.", object.dump()));
  }

  bool has(const char* field) {
    seen_.insert(field);
    return object_.contains(field);
  }
  const json& at(const char* field) {
    if (!has(field)) wrong(where_, fmt::format("the field '{}' is missing.", field));
    return object_.at(field);
  }
  template <class T>
  T get(const char* field, const char* expected) {
    const json& value = at(field);
    const auto refused = [&] {
      wrong(where_, fmt::format("'{}' is {}, but {} is expected.", field, value.dump(), expected));
    };
    // The library would take truth values and floats for integers, and cut those that do not fit.
    if constexpr (std::is_same_v<T, int> || std::is_same_v<T, int64_t>)
      if (!fits<T>(value)) refused();
    try {
      return value.get<T>();
    } catch (const json::exception&) {
      refused();
      throw;
    }
  }
  std::string text(const char* field) { return get<std::string>(field, "a string"); }
  std::string text(const char* field, const char* missing) { return has(field) ? text(field) : missing; }
  bool flag(const char* field, bool missing = false) {
    return has(field) ? get<bool>(field, "true or false") : missing;
  }
  std::vector<std::string> texts(const char* field) {
    return has(field) ? get<std::vector<std::string>>(field, "a list of strings") : std::vector<std::string>{};
  }
  DType dtype(const char* field) {
    const std::string name = text(field);
    const std::optional<DType> found = element_type_from_name(name);
    if (!found && name == name_of(DType::Record)) return DType::Record;
    if (!found) wrong(where_, fmt::format("'{}' is no element type.", name));
    return *found;
  }
  template <size_t N>
  size_t one_of(const char* field, const std::array<const char*, N>& names, const char* missing) {
    const std::string name = text(field, missing);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      wrong(where_, fmt::format("'{}' is '{}', but one of {} is expected.", field, name, fmt::join(names, ", ")));
    return static_cast<size_t>(found - names.begin());
  }
  // The entries of a list of objects, each with its place.
  template <class Make>
  void each(const char* field, Make make) {
    if (!has(field)) return;
    if (!at(field).is_array()) wrong(where_, fmt::format("'{}' is no list.", field));
    size_t i = 0;
    for (const json& item : at(field)) {
      Reader entry(item, fmt::format("{}[{}]", field, i++));
      make(entry);
      entry.finish();
    }
  }
  void finish() const {
    for (const auto& [field, value] : object_.items())
      if (!seen_.contains(field))
        wrong(where_, fmt::format("the field '{}' is not known; the fields are {}.", field, fmt::join(seen_, ", ")));
  }
  const std::string& where() const { return where_; }

 private:
  const json& object_;
  std::string where_;
  std::set<std::string> seen_;
};

json slots_json(const UserSlots& slots) {
  json list = json::array();
  for (const UserSlot& slot : slots) {
    list.push_back(slot.is_tuple ? slots_json(slot.slots) : json(slot.name));
  }
  return list;
}

UserSlots slots_of(const json& list, const std::string& where) {
  if (!list.is_array()) wrong(where, "a list of names and lists is expected.");
  UserSlots slots;
  for (const json& item : list) {
    UserSlot& slot = slots.emplace_back();
    slot.is_tuple = !item.is_string();
    if (slot.is_tuple)
      slot.slots = slots_of(item, where);
    else
      slot.name = item.get<std::string>();
  }
  return slots;
}

bool has_dtype(SignatureKind kind) {
  return kind == SignatureKind::Array || kind == SignatureKind::Scalar || kind == SignatureKind::Pointers;
}

json record_json(const Record& record) {
  json out = {{"bytes", record.bytes}, {"literal", record.literal}, {"fields", json::array()}};
  for (const RecordField& f : record.fields)
    out["fields"].push_back({{"name", f.name}, {"offset", f.offset}, {"dtype", name_of(f.dtype)}, {"count", f.count}});
  return out;
}

Record record_of(Reader& owner) {
  Reader in(owner.at("record"), owner.where() + ".record");
  Record record{.bytes = in.get<int64_t>("bytes", "an integer"), .fields = {}, .literal = in.text("literal")};
  in.each("fields", [&](Reader& f) {
    const std::string name = f.text("name");
    const auto offset = f.get<int64_t>("offset", "an integer");
    const DType dtype = f.dtype("dtype");
    record.fields.push_back({name, offset, dtype, f.has("count") ? f.get<int64_t>("count", "an integer") : 1});
  });
  in.finish();
  return record;
}

// The dtype of an argument or return, and its record.
template <class Owner>
void write_type(const Owner& owner, json& out) {
  out["kind"] = kKinds[static_cast<size_t>(owner.kind)];
  if (has_dtype(owner.kind)) out["dtype"] = name_of(owner.dtype);
  if (owner.dtype == DType::Record) out["record"] = record_json(owner.record);
}

template <class Owner>
void read_type(Reader& in, Owner& owner) {
  owner.kind = static_cast<SignatureKind>(in.one_of("kind", kKinds, "array"));
  if (has_dtype(owner.kind))
    owner.dtype = in.dtype("dtype");
  else if (owner.kind == SignatureKind::Record)
    owner.dtype = DType::Record;
  else if (owner.kind == SignatureKind::Object)
    owner.dtype = DType::Object;
  if (owner.dtype == DType::Record) owner.record = record_of(in);
}

json argument_json(const SignatureArgument& a) {
  json out = {{"name", a.name}};
  write_type(a, out);
  if (a.optional) out["optional"] = true;
  if (!a.default_text.empty()) out["default"] = a.default_text;
  if (a.kind == SignatureKind::Callback) {
    out["params"] = json::array();
    for (const SignatureArgument& p : a.parameters) out["params"].push_back(argument_json(p));
    if (a.result) out["returns"] = name_of(*a.result);
  }
  if (a.kind == SignatureKind::Array || a.kind == SignatureKind::Pointers)
    out["intent"] = kIntents[static_cast<size_t>(a.intent) - 1];
  if (a.kind != SignatureKind::Array) return out;
  out["shape"] = a.shape;
  out["order"] = kOrders[static_cast<size_t>(a.order)];
  if (a.order == Order::Inner) out["inner_axis"] = a.inner_axis;
  if (!a.strides.empty()) out["strides"] = a.strides;
  return out;
}

SignatureArgument argument_of(Reader& in) {
  SignatureArgument a;
  a.name = in.text("name");
  read_type(in, a);
  a.optional = in.flag("optional");
  a.default_text = in.text("default", "");
  if (a.kind == SignatureKind::Callback) {
    in.each("params", [&](Reader& item) { a.parameters.push_back(argument_of(item)); });
    if (in.has("returns")) a.result = in.dtype("returns");
  }
  if (a.kind == SignatureKind::Array || a.kind == SignatureKind::Pointers)
    a.intent = static_cast<Intent>(in.one_of("intent", kIntents, "in") + 1);
  if (a.kind != SignatureKind::Array) return a;
  a.shape = in.texts("shape");
  a.order = static_cast<Order>(in.one_of("order", kOrders, "C"));
  if (in.has("inner_axis")) a.inner_axis = in.get<int>("inner_axis", "an axis");
  a.strides = in.texts("strides");
  return a;
}

json function_json(const AuthorFunction& f) {
  return {{"name", f.name}, {"parameters", f.parameters}, {"result", f.result}};
}

}  // namespace

std::string to_json(const Signature& s) {
  json root = {{"schema", Signature::kSchema}, {"name", s.name}};
  root["args"] = json::array();
  for (const SignatureArgument& a : s.arguments) root["args"].push_back(argument_json(a));
  root["symbols"] = json::array();
  for (const SignatureSymbol& symbol : s.symbols)
    root["symbols"].push_back(
        {{"name", symbol.name}, {"dtype", name_of(symbol.dtype)}, {"nonnegative", symbol.nonnegative}});
  root["returns"] = json::array();
  for (const SignatureReturn& r : s.returns) {
    json item = {{"name", r.name}};
    write_type(r, item);
    if (r.kind == SignatureKind::Array) item["shape"] = r.shape;
    root["returns"].push_back(std::move(item));
  }
  if (s.arg_names) root["arg_names"] = *s.arg_names;
  if (s.user_args) root["user_args"] = slots_json(*s.user_args);
  root["run"] = function_json(s.run);
  if (!s.init.name.empty()) root["init"] = function_json(s.init);
  if (!s.exit.name.empty()) root["exit"] = function_json(s.exit);
  if (!s.error.name.empty()) root["error"] = function_json(s.error);
  if (!s.persistent.empty()) root["persistent"] = s.persistent;
  for (const SignatureWorkspace& w : s.workspaces)
    root["workspaces"].push_back({{"name", w.name}, {"bytes", w.bytes}, {"alignment", w.alignment}});
  for (const SignatureStatus& status : s.statuses)
    root["statuses"].push_back({{"status", status.status}, {"text", status.text}});
  root["options"] = {
      {"returns_tuple", s.returns_tuple}, {"may_alias", s.may_alias}, {"strict_scalars", s.strict_scalars}};
  if (s.release_gil) root["options"]["release_gil"] = *s.release_gil;
  if (!s.error_check) root["options"]["error_check"] = false;
  if (s.return_override) root["options"]["allow_return_override"] = true;
  if (!s.coerce.empty()) root["options"]["coerce"] = s.coerce;
  return root.dump();
}

Signature signature_from_json(const std::string& text) {
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest)
      throw user_error(fmt::format("The signature's JSON is nested deeper than {} levels.", kDeepest), Builtin::Value);
    return true;
  };
  const json root = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (root.is_discarded()) throw user_error("The signature is no JSON text.", Builtin::Value);
  Reader in(root, "the signature");
  const int schema = in.get<int>("schema", "an integer");
  if (schema < 1 || schema > Signature::kSchema)
    wrong(in.where(), fmt::format("schema {} is not known; this library reads 1 to {}.", schema, Signature::kSchema));
  Signature s;
  s.name = in.text("name");
  in.each("args", [&](Reader& item) { s.arguments.push_back(argument_of(item)); });
  in.each("symbols", [&](Reader& item) {
    const std::string name = item.text("name");
    const DType dtype = item.has("dtype") ? item.dtype("dtype") : DType::I64;
    s.symbols.push_back({name, dtype, item.flag("nonnegative", true)});
  });
  in.each("returns", [&](Reader& item) {
    SignatureReturn r;
    r.name = item.text("name");
    read_type(item, r);
    if (r.kind == SignatureKind::Array) r.shape = item.texts("shape");
    s.returns.push_back(std::move(r));
  });
  if (in.has("arg_names")) s.arg_names = in.texts("arg_names");
  if (in.has("user_args")) s.user_args = slots_of(in.at("user_args"), "user_args");
  for (const auto& [field, function] : {std::pair{"run", &s.run}, std::pair{"init", &s.init},
                                        std::pair{"exit", &s.exit}, std::pair{"error", &s.error}}) {
    if (!in.has(field)) continue;
    Reader item(in.at(field), field);
    *function = {item.text("name", ""), item.texts("parameters"), item.text("result", "none")};
    item.finish();
  }
  s.persistent = in.texts("persistent");
  in.each("workspaces", [&](Reader& item) {
    const std::string name = item.text("name"), bytes = item.text("bytes");
    s.workspaces.push_back({name, bytes, item.has("alignment") ? item.get<int64_t>("alignment", "an integer") : 64});
  });
  in.each("statuses",
          [&](Reader& item) { s.statuses.push_back({item.get<int64_t>("status", "an integer"), item.text("text")}); });
  if (in.has("options")) {
    Reader options(in.at("options"), "options");
    s.returns_tuple = options.flag("returns_tuple");
    s.may_alias = options.flag("may_alias");
    s.strict_scalars = options.flag("strict_scalars");
    if (options.has("release_gil")) s.release_gil = options.flag("release_gil");
    s.error_check = options.flag("error_check", true);
    s.return_override = options.flag("allow_return_override");
    s.coerce = options.text("coerce", "");
    options.finish();
  }
  in.finish();
  return s;
}

}  // namespace ferrule
