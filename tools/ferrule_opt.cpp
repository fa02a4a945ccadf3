// ferrule-opt: reads a Program's text, runs it to a named stage and prints what that stage gives.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "compiler.h"
#include "program/program_text.h"
#include "program/verify.h"

namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
  } else {
    std::ifstream file(path);
    if (!file) throw ferrule::user_error("The file '" + path + "' cannot be read.");
    text << file.rdbuf();
  }
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Reads a Program (.fr), runs it to a stage and prints the result."};
  std::string path = "-", stage = "emit";
  std::vector<std::string> off;
  bool times = false, list = false, reference = false;
  app.add_option("file", path, "Program text; '-' reads standard input")->capture_default_str();
  app.add_option("--to", stage, "stage whose output is printed: program, lower, a pass, or emit")
      ->capture_default_str();
  app.add_option("--off", off, "passes to leave out")->delimiter(',');
  app.add_flag("--reference", reference, "emit what target 'reference' runs");
  app.add_flag("--times", times, "print the time of each stage on standard error");
  app.add_flag("--list", list, "print the stages and stop");
  CLI11_PARSE(app, argc, argv);

  try {
    if (list) {
      for (const std::string& name : ferrule::stage_names()) std::cout << name << '\n';
      return 0;
    }
    ferrule::require_stage(stage);
    for (const std::string& name : off) ferrule::require_optional_pass(name);
    ferrule::PassOptions options;
    options.keep_text = true;
    options.off.insert(off.begin(), off.end());
    const ferrule::Program program = ferrule::parse_program(read(path));
    const ferrule::EmittedSource emitted = ferrule::emit_source(program, {.reference = reference, .passes = options});
    // A stage that was switched off printed nothing; its input is its output.
    const std::string* found = nullptr;
    for (const std::string& name : ferrule::stage_names()) {
      for (const auto& [ran, text] : emitted.text)
        if (ran == name) found = &text;
      if (name == stage) break;
    }
    std::cout << *found;
    if (times)
      for (const auto& [name, seconds] : emitted.times) std::cerr << name << ' ' << seconds * 1e3 << " ms\n";
    return 0;
  } catch (const ferrule::Error& error) {
    std::cerr << "ferrule-opt: " << error.what() << '\n';
    return 1;
  }
}
