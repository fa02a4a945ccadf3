// Answers of the compiler about itself, kept between processes so that a warm one spawns nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ferrule {

// Where answers are kept. Each function may be empty: then every process asks the compiler anew. A key is a SHA-256
// in hexadecimal; a value is JSON text. Writing may fail silently.
struct ProbeCache {
  std::function<std::optional<std::string>(const std::string& key)> read;
  std::function<void(const std::string& key, const std::string& value)> write;
  std::function<void()> watch;  // called now and then while the compiler is asked; what it throws ends that
};

}  // namespace ferrule
