// What a caller may rely on of a native function that was not captured: its arguments, sizes and results, in which
// order they may be given, and how the author's C functions take them. A value: made, checked once, written as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "signature/record.h"

namespace ferrule {

enum class SignatureKind : uint8_t {
  Array,
  Scalar,
  Record,    // a struct by value
  String,    // text as UTF-8 or bytes: its characters and their number
  Object,    // a Python object, opaque to native code
  Callback,  // a Python callable that native code calls
  Pointers   // several arrays of one dtype: their addresses and their number
};
enum class Intent : uint8_t { In = FR_IN, Out = FR_OUT, InOut = FR_INOUT };
enum class Order : uint8_t { C = FR_LAYOUT_C, F = FR_LAYOUT_F, Inner = FR_LAYOUT_INNER, Any = FR_LAYOUT_ANY };

// Sizes are texts over symbols: "N", "2*M + 1". An unknown name in one is a symbol of its own.
struct SignatureArgument {
  std::string name;
  SignatureKind kind = SignatureKind::Array;
  DType dtype = DType::F64;
  std::vector<std::string> shape;             // Array
  std::vector<std::string> strides;           // Array of order Inner or Any, in elements; empty: free
  Order order = Order::C;                     // Array
  int inner_axis = -1;                        // Array of order Inner: the axis of unit stride; -1: the last
  Intent intent = Intent::In;                 // Array, Pointers
  bool optional = false;                      // None is taken and arrives as NULL
  std::string default_text;                   // a Python literal; empty: required
  Record record;                              // Record, and Array of dtype Record
  std::vector<SignatureArgument> parameters;  // Callback: arrays in C order, scalars and objects
  std::optional<DType> result;                // Callback: a scalar, or an object; nothing is taken without
  bool operator==(const SignatureArgument&) const = default;
};

struct SignatureSymbol {
  std::string name;
  DType dtype = DType::I64;  // an integer; values that it does not hold are refused
  bool nonnegative = true;
  bool operator==(const SignatureSymbol&) const = default;
};

struct SignatureReturn {
  std::string name;
  SignatureKind kind = SignatureKind::Array;
  DType dtype = DType::F64;
  std::vector<std::string> shape;  // Array: fresh memory in C order
  Record record;                   // Record, and Array of dtype Record
  bool operator==(const SignatureReturn&) const = default;
};

// A place of `user_args`: the name of an argument or symbol, "" for one whose value is never looked at, or a tuple.
struct UserSlot {
  std::string name;
  bool is_tuple = false;
  std::vector<UserSlot> slots;  // of a tuple
  bool operator==(const UserSlot&) const = default;
};
using UserSlots = std::vector<UserSlot>;

// A C function of the author: which values it takes, in order. A parameter is an argument, a return or a symbol by
// name, or "name.strides[axis]", the stride of an array in elements. Arrays come as pointers, scalars and symbols by
// value.
struct AuthorFunction {
  std::string name;
  std::vector<std::string> parameters;
  // "none": void; "status": an int, 0 for success; else the name of a scalar return that the function gives.
  std::string result = "none";
  bool operator==(const AuthorFunction&) const = default;
};

// Memory that the caller gives once (Kernel.set_workspace) and that every call checks and passes.
struct SignatureWorkspace {
  std::string name;
  std::string bytes;  // a size over symbols
  int64_t alignment = 64;
  bool operator==(const SignatureWorkspace&) const = default;
};

struct SignatureStatus {
  int64_t status = 0;
  std::string text;
  bool operator==(const SignatureStatus&) const = default;
};

struct Signature {
  static constexpr int kSchema = 1;

  std::string name;
  std::vector<SignatureArgument> arguments;
  std::vector<SignatureSymbol> symbols;  // after complete(): every name that a size mentions
  std::vector<SignatureReturn> returns;
  std::optional<std::vector<std::string>> arg_names;  // what may be given by position: arguments and symbols
  std::optional<UserSlots> user_args;
  AuthorFunction run;
  // Without a name there is none. `init` takes persistent symbols and gives the state: as its result ("state", a
  // pointer that is not NULL) or through the parameter "state", a void**. `run` and `exit` take it as the parameter
  // "state".
  AuthorFunction init, exit;
  // Takes the error that the program has recorded of itself, and clears the record: a text ("text", a char pointer,
  // NULL for none) or a "status". Takes "state", and "status", what the function before it gave.
  AuthorFunction error;
  std::vector<std::string> persistent;  // symbols that keep their value from `init` to `exit`
  std::vector<SignatureWorkspace> workspaces;
  std::vector<SignatureStatus> statuses;  // what results "status" mean
  bool returns_tuple = false;             // even one return comes in a tuple
  bool may_alias = false;                 // the author's function is right for every overlap of arguments
  bool strict_scalars = false;
  bool error_check = true;          // statuses and recorded errors of `run` are raised
  std::optional<bool> release_gil;  // whether runs let other Python threads in; without it long ones do
  bool return_override = false;     // callers may give the memory of a returned array, by its name
  std::string coerce;  // "asarray": lists and tuples are copied to arrays that are only read, with a warning

  const SignatureArgument* argument(const std::string& wanted) const;
  const SignatureSymbol* symbol(const std::string& wanted) const;
  const SignatureReturn* returned(const std::string& wanted) const;
  const SignatureWorkspace* workspace(const std::string& wanted) const;
  bool operator==(const Signature&) const = default;
};

// Adds the symbols that only sizes name, fills in what `run` leaves out (name: the signature's; parameters: arguments,
// then returns, symbols and workspaces, after the state where there is an `init`) and refuses a signature that
// contradicts itself, naming the argument: names that are no identifiers or come twice, sizes that cannot be read,
// symbols that nothing determines, an argument missing from `user_args`, unknown names anywhere. Throws Error(User).
Signature complete(Signature signature);

// Canonical JSON: equal signatures give equal text.
std::string to_json(const Signature& signature);

// Reads every schema up to kSchema. Throws Error(User) naming the field that is missing, unknown or wrong; the result
// is not completed.
Signature signature_from_json(const std::string& text);

}  // namespace ferrule
