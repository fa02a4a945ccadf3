// A program without Python: opens a saved artifact, checks and maps its module, and runs it on three numbers.
#include <fmt/format.h>

#include <array>

#include "artifact/compile.h"
#include "base/sha256.h"
#include "call/invoke.h"
#include "load/module.h"

int main(int, char** argv) {
  ferrule::Artifact artifact = ferrule::open_artifact(argv[1]);
  ferrule::Store none("", {.read_only = true});
  ferrule::LoadableModule module = ferrule::load_bytes(artifact, none);
  ferrule::Handle handle(ferrule::load_module(module.bytes, ferrule::sha256_hex(module.bytes)));
  std::array<double, 3> data = {1, 2, 3};
  const int64_t shape = 3;
  ferrule::ArrayRef array = {data.data(), ferrule::DType::F64, 1, &shape, nullptr, true};
  ferrule::invoke(handle, std::array<ferrule::CallArgument, 2>{array, 2.5});
  fmt::print("{} {} {} {}\n", module.key, data[0], data[1], data[2]);
}
