// Compiles a module of this folder for a C++ test, with the plain compiler and nothing of this project but abi.h.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace ferrule::test {

// The path of the shared library; `flags` are further compiler arguments. Compiled anew for each call.
inline std::string compile_module(const std::string& file, const std::string& flags = "") {
  static int count = 0;
  const std::string folder = std::string(FERRULE_BINARY_DIR) + "/tests/modules";
  const std::string output = folder + "/" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".so";
  const bool cpp = file.ends_with(".cpp");
  const std::string command = "mkdir -p '" + folder + "' && " + (cpp ? "g++ -std=c++20" : "gcc -std=c11") +
                              " -O1 -fPIC -shared -I'" + FERRULE_SOURCE_DIR + "/include' " + flags + " '" +
                              FERRULE_SOURCE_DIR + "/tests/modules/" + file + "' -o '" + output + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("The test module does not compile: " + command);
  return output;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace ferrule::test
