#include "build/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/cpu.h"
#include "base/error.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

using nlohmann::json;

// Splits a line of `-###`: words apart by spaces, optionally in double quotes.
std::vector<std::string> split_quoted(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, open = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
      open = true;
    } else if (c == ' ' && !quoted) {
      if (open || !word.empty()) words.push_back(std::move(word));
      word.clear();
      open = false;
    } else {
      word += c;
    }
  }
  if (open || !word.empty()) words.push_back(std::move(word));
  return words;
}

// The line on which the driver would start the compiler proper.
std::vector<std::string> compiler_line(std::string_view output, std::string_view compiler) {
  while (!output.empty()) {
    std::string_view line = output.substr(0, output.find('\n'));
    if (line.find("cc1plus") != line.npos || line.find("-cc1") != line.npos) return split_quoted(line);
    output.remove_prefix(std::min(line.size() + 1, output.size()));
  }
  throw Error(
      ErrorKind::Build,
      fmt::format("The C++ compiler '{}' did not say what '-march=native' means; ask for target 'baseline' or set "
                  "CXX to g++ or clang++.",
                  compiler));
}

// A feature counts when host_features() can tell it; what the host cannot run is no feature of the code either.
void add_feature(std::string_view name, Target* target) {
  std::string text(name == "abm" ? "lzcnt" : name);
  if (missing_features(std::span(&text, 1)).empty()) target->features.push_back(text);
}

void parse_gcc(const std::vector<std::string>& words, Target* target) {
  for (const std::string& word : words) {
    if (word.rfind("-m", 0) != 0) continue;
    if (word.rfind("-march=", 0) == 0) target->march = word.substr(7);
    target->flags.push_back(word);
    if (word.find('=') == std::string::npos && word.rfind("-mno-", 0) != 0) add_feature(word.substr(2), target);
  }
}

void parse_clang(const std::vector<std::string>& words, Target* target) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& value = words[i + 1];
    if (words[i] == "-target-cpu") {
      target->march = value;
      target->flags.insert(target->flags.begin(), "-march=" + value);
    } else if (words[i] == "-target-feature" && value.size() > 1 && is_told_feature(value.substr(1))) {
      // Clang's driver takes no -m switch for some of the others.
      target->flags.push_back((value[0] == '+' ? "-m" : "-mno-") + value.substr(1));
      if (value[0] == '+') add_feature(value.substr(1), target);
    }
  }
}

// The levels that the x86-64 ABI defines above the first, which no CPU that is in use stops at.
std::vector<Target> x86_levels() {
  const std::pair<const char*, std::vector<std::string>> steps[] = {
      {"x86-64-v2", {"popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
      {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
  };
  std::vector<Target> levels;
  std::vector<std::string> features;
  for (const auto& [name, added] : steps) {
    features.insert(features.end(), added.begin(), added.end());
    std::sort(features.begin(), features.end());
    levels.push_back({name, name, {fmt::format("-march={}", name)}, features});
  }
  return levels;
}

std::vector<Target> levels_of(const std::string& name, const Toolchain& toolchain) {
  if (toolchain.triplet.rfind("x86_64", 0) == 0) return x86_levels();
  if (toolchain.triplet.rfind("aarch64", 0) == 0) return {{"armv8-a", "armv8-a", {"-march=armv8-a"}, {}}};
  throw unsupported(fmt::format("Target '{}' is not defined for '{}'; use target 'native'.", name, toolchain.triplet));
}

Target baseline(const Toolchain& toolchain) {
  for (Target& level : levels_of("baseline", toolchain)) {
    if (level.name != "x86-64-v3" && level.name != "armv8-a") continue;
    level.name = "baseline";
    return level;
  }
  throw internal_error("No level is the baseline.");
}

Target multi(const Toolchain& toolchain) {
  std::vector<Target> levels = levels_of("multi", toolchain);
  Target target{"multi", "", {}, levels.front().features};
  for (const Target& level : levels) {
    target.march += (target.march.empty() ? "" : " ") + level.march;
    target.flags.insert(target.flags.end(), level.flags.begin(), level.flags.end());
  }
  target.levels = std::move(levels);
  return target;
}

// What native means depends on the compiler and on the CPU: a home folder may be shared among machines.
std::string cache_key(const Toolchain& toolchain) {
  Sha256 hash;
  hash.field("native 1").field(toolchain.identity);
  for (const std::string& name : host_features()) hash.field(name);
  return hash.field(cpu_model()).hex();
}

}  // namespace

Target parse_native(std::string_view output, CompilerKind kind, std::string_view compiler) {
  Target target;
  target.name = "native";
  const std::vector<std::string> words = compiler_line(output, compiler);
  if (kind == CompilerKind::Gcc) {
    parse_gcc(words, &target);
  } else {
    parse_clang(words, &target);
  }
  std::sort(target.features.begin(), target.features.end());
  target.features.erase(std::unique(target.features.begin(), target.features.end()), target.features.end());
  if (target.march.empty()) {
    throw Error(ErrorKind::Build,
                "The C++ compiler's answer for '-march=native' names no CPU; ask for target 'baseline'.");
  }
  return target;
}

void drop_implied_flags(std::string_view help, Target* target) {
  std::set<std::string> implied;
  std::istringstream lines{std::string(help)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, state;
    words >> name >> state;
    if (state == "[enabled]") implied.insert(name);
    if (state == "[disabled]") implied.insert("-mno-" + name.substr(2));
  }
  std::erase_if(target->flags, [&](const std::string& flag) { return implied.contains(flag); });
}

Target resolve_target(const std::string& name, const Toolchain& toolchain, const ProbeCache& cache) {
  if (name == "baseline") return baseline(toolchain);
  if (name == "multi") return multi(toolchain);
  if (name == "reference") return {name, "", {}, {}};
  if (name != "native") {
    throw user_error(fmt::format("Target '{}' is not known; use 'native', 'baseline', 'multi' or 'reference'.", name));
  }
  const std::string key = cache_key(toolchain);
  if (cache.read) {
    if (std::optional<std::string> text = cache.read(key)) {
      json answer = json::parse(*text, nullptr, /*allow_exceptions=*/false);
      if (answer.is_object() && answer.contains("march")) {
        return {name, answer.at("march"), answer.at("flags"), answer.at("features")};
      }
    }
  }
  Target target =
      parse_native(ask_compiler(toolchain, {"-march=native", "-###", "-S", "-x", "c++", "/dev/null"}, cache.watch),
                   toolchain.kind, toolchain.command.front());
  if (toolchain.kind == CompilerKind::Gcc) {
    drop_implied_flags(ask_compiler(toolchain, {"-march=" + target.march, "-Q", "--help=target"}, cache.watch),
                       &target);
  }
  if (cache.write) {
    json answer = {{"march", target.march}, {"flags", target.flags}, {"features", target.features}};
    cache.write(key, answer.dump());
  }
  return target;
}

}  // namespace ferrule
