// Runs the stages of one compilation: a timer, a dump when something changed, a verifier and an off switch for each.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrule {

struct StageTime {
  std::string stage;
  double seconds = 0;
};

// What a caller wants to see or to leave out. Nothing here changes the result but `off`.
struct PassOptions {
  std::set<std::string> dump;  // stages whose output goes to `sink`; "all" means every stage
  std::set<std::string> off;   // stages to leave out; a required one cannot be
  std::function<void(std::string_view stage, std::string_view text)> sink;
  bool keep_text = false;  // keep every stage's output for Passes::text
};

// FERRULE_DUMP=lower,inline and FERRULE_PASSES_OFF=inline as options; a sink that writes to stderr.
PassOptions pass_options_from_environment();

class Passes {
 public:
  explicit Passes(PassOptions options) : options_(std::move(options)) {}

  // out = fn(); verify(out) throws where the stage broke a rule; print(out) is called only if somebody looks.
  template <class Fn, class Print, class Verify>
  auto run(const char* stage, Fn fn, Print print, Verify verify) {
    const auto start = std::chrono::steady_clock::now();
    auto out = fn();
    verify(out);
    times_.push_back({stage, seconds_since(start)});
    if (wants_text(stage)) record(stage, print(out));
    return out;
  }

  // A rewriting stage: skipped when it is switched off.
  template <class In, class Fn, class Print, class Verify>
  In rewrite(const char* stage, In in, bool required, Fn fn, Print print, Verify verify) {
    if (!required && options_.off.contains(stage)) return in;
    return run(stage, [&] { return fn(std::move(in)); }, print, verify);
  }

  const std::vector<StageTime>& times() const { return times_; }
  // Output of the stages that ran, in order, if keep_text.
  const std::vector<std::pair<std::string, std::string>>& text() const { return text_; }

 private:
  static double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  bool wants_text(const std::string& stage) const {
    return options_.keep_text || options_.dump.contains(stage) || options_.dump.contains("all");
  }
  void record(const char* stage, std::string text);

  PassOptions options_;
  std::vector<StageTime> times_;
  std::vector<std::pair<std::string, std::string>> text_;
  std::string last_;
};

}  // namespace ferrule
