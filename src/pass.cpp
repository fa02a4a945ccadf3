#include "pass.h"

#include <cstdio>
#include <cstdlib>

namespace ferrule {
namespace {

std::set<std::string> split(const char* text) {
  std::set<std::string> words;
  std::string word;
  for (const char* c = text ? text : "";; ++c) {
    if (*c == ',' || *c == '\0') {
      if (!word.empty()) words.insert(word);
      word.clear();
      if (*c == '\0') return words;
    } else if (*c != ' ') {
      word += *c;
    }
  }
}

}  // namespace

PassOptions pass_options_from_environment() {
  PassOptions options;
  options.dump = split(std::getenv("FERRULE_DUMP"));
  options.off = split(std::getenv("FERRULE_PASSES_OFF"));
  options.sink = [](std::string_view stage, std::string_view text) {
    std::fprintf(stderr, "-- %.*s\n%.*s\n", static_cast<int>(stage.size()), stage.data(), static_cast<int>(text.size()),
                 text.data());
  };
  return options;
}

void Passes::record(const char* stage, std::string text) {
  const bool dumped = options_.dump.contains(stage) || options_.dump.contains("all");
  if (dumped && options_.sink && text != last_) options_.sink(stage, text);
  if (options_.keep_text) text_.emplace_back(stage, text);
  last_ = std::move(text);
}

}  // namespace ferrule
