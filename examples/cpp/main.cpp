// Compiles a program, or opens an artifact that Python saved, and calls it: no Python in this process.
//
//   cpp_example STORE              compiles `ramp` through the store in the folder STORE
//   cpp_example STORE FILE         calls the artifact in FILE, which takes two float64 arrays of one length
#include <ferrule/ferrule.h>

#include <cstdio>
#include <numeric>
#include <vector>

namespace {

// ramp(x, y): y[:] = 2 * x + arange(len(x))
ferrule::Program ramp() {
  ferrule::ProgramBuilder b("ramp");
  const ferrule::Expr n = ferrule::Expr::symbol(b.symbols().add("N", ferrule::SymbolKind::Extent, true));
  const auto argument = [&](const char* name) {
    return b.array_argument(name, ferrule::DType::F64, {n}, {}, ferrule::Layout::C, 0, false);
  };
  const ferrule::ValueId x = argument("x"), y = argument("y");
  const ferrule::ValueId twice[] = {x, x};
  const ferrule::ValueId terms[] = {b.elementwise(ferrule::ElementOp::add, twice), b.iota({n}, 0)};
  b.store(y, b.elementwise(ferrule::ElementOp::add, terms));
  return b.finish();
}

ferrule::Artifact compiled(ferrule::Store& store) {
  ferrule::CompileOptions options;
  options.build.include_dir = FERRULE_INCLUDE_DIR;
  const ferrule::Compilation made = ferrule::compile(ramp(), options, store);
  std::printf("%s\n", made.built ? "compiled" : "found in the store");
  return made.artifact;
}

// A vector as an argument; `shape` must outlive the call.
ferrule::ArrayRef array(std::vector<double>& values, const int64_t& shape) {
  return {values.data(), ferrule::DType::F64, 1, &shape};
}

void run(int argc, char** argv) {
  ferrule::Store store(argv[1]);
  const ferrule::Artifact artifact = argc > 2 ? ferrule::open_artifact(argv[2]) : compiled(store);
  const ferrule::LoadableModule module = ferrule::load_bytes(artifact, store);
  ferrule::Handle kernel(ferrule::load_module(module.bytes, module.key));
  std::printf("%s\n", ferrule::signature_text(kernel.module().descriptor()).c_str());

  std::vector<double> x(5), y(5);
  std::iota(x.begin(), x.end(), 1.0);
  const int64_t five = 5, four = 4;
  const ferrule::CallArgument arguments[] = {array(x, five), array(y, five)};
  ferrule::invoke(kernel, arguments);
  for (const double value : y) std::printf("%g ", value);
  std::printf("\n");

  const ferrule::CallArgument unequal[] = {array(x, five), array(y, four)};
  try {
    ferrule::invoke(kernel, unequal);
  } catch (const ferrule::Error& error) {
    std::printf("refused: %s\n", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s STORE [ARTIFACT]\n", argv[0]);
    return 2;
  }
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
