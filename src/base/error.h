// The library's exceptions: whose fault it is, which Python builtin the error also is, and one clear sentence.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace ferrule {

enum class ErrorKind {
  User,          // the caller's program or arguments
  Unsupported,   // valid NumPy that Ferrule does not do
  Build,         // the C++ compiler or linker failed
  Incompatible,  // an artifact that this host cannot run
  Internal,      // a defect of Ferrule
};

// The builtin exception that a user error also is in Python.
enum class Builtin {
  None,
  Type,
  Value,
  Overflow,
  Buffer,
  Index,
  Runtime,
  Memory,
  UnboundLocal,
  ZeroDivision,
  Assertion
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, Builtin builtin = Builtin::None)
      : std::runtime_error(without_nul(message)), kind_(kind), builtin_(builtin) {}
  ErrorKind kind() const { return kind_; }
  Builtin builtin() const { return builtin_; }

 private:
  // what() ends at the first NUL, which a name that is refused may have.
  static std::string without_nul(std::string text) {
    for (size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) text.replace(at, 1, "\\0");
    return text;
  }

  ErrorKind kind_;
  Builtin builtin_;
};

// A wait that was given up, because a signal's handler raised or the process ends: no failure of what was waited for.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

inline Error user_error(std::string message, Builtin builtin = Builtin::Value) {
  return Error(ErrorKind::User, std::move(message), builtin);
}
inline Error unsupported(std::string message) { return Error(ErrorKind::Unsupported, std::move(message)); }
inline Error internal_error(std::string message) { return Error(ErrorKind::Internal, std::move(message)); }

}  // namespace ferrule
