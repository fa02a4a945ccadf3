#include "build/toolchain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/sha256.h"
#include "build/compiler_output.h"
#include "build/words.h"

namespace ferrule {
namespace {

using nlohmann::json;

constexpr double kProbeLimitS = 30;

Error build_error(std::string message) { return Error(ErrorKind::Build, std::move(message)); }

std::string environment_or(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value && *value ? value : fallback;
}

std::string search_path() { return environment_or("PATH", "/usr/local/bin:/usr/bin:/bin"); }

bool is_program(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Absolute path of program `name`, looked up on PATH unless it has a slash; empty where there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!is_program(name)) return "";
    if (name[0] == '/') return name;
    std::array<char, 4096> folder;
    return getcwd(folder.data(), folder.size()) ? std::string(folder.data()) + "/" + name : "";
  }
  std::istringstream folders(search_path());
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string path = folder + "/" + name;
    if (!folder.empty() && folder[0] == '/' && is_program(path)) return path;
  }
  return "";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Splits "ccache g++" as a shell would, but takes a path with spaces whole where it exists.
std::vector<std::string> resolve_command(const std::string& requested) {
  if (std::string whole = find_program(requested); !whole.empty()) return {whole};
  std::vector<std::string> words = split_words(requested);
  if (!words.empty()) {
    if (std::string program = find_program(words[0]); !program.empty()) {
      words[0] = program;
      return words;
    }
  }
  throw build_error(fmt::format("The C++ compiler '{}' was not found; set CXX or install g++.", requested));
}

std::vector<std::string> choose_command(const std::string& requested) {
  if (!requested.empty()) return resolve_command(requested);
  if (std::string named = environment_or("CXX", ""); !named.empty()) return resolve_command(named);
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string path = find_program(name); !path.empty()) return {path};
  }
  throw build_error("No C++ compiler was found ('c++', 'g++' and 'clang++' on PATH); set CXX or install g++.");
}

json stamp_json(const std::string& path) {
  FileStamp stamp;
  if (stamp_of(path, &stamp) != 0) return nullptr;
  return {stamp.device, stamp.inode, stamp.size, stamp.mtime_ns};
}

std::string cache_key(const std::vector<std::string>& command) {
  Sha256 hash;
  hash.field("toolchain 2");
  for (const std::string& word : command) hash.field(word);
  return hash.field(stamp_json(command[0]).dump()).hex();
}

// A cached answer holds only while every program that the driver runs is still the same file: a wrapper such as ccache
// does not change when the compiler behind it does.
bool still_holds(const json& answer) {
  for (const auto& [path, stamp] : answer.at("programs").items()) {
    if (stamp_json(path) != stamp) return false;
  }
  return true;
}

Toolchain from_answer(std::vector<std::string> command, const json& answer) {
  Toolchain toolchain;
  toolchain.command = std::move(command);
  toolchain.kind = answer.at("clang").get<bool>() ? CompilerKind::Clang : CompilerKind::Gcc;
  toolchain.version = answer.at("version");
  toolchain.triplet = answer.at("triplet");
  toolchain.identity = answer.at("identity");
  return toolchain;
}

json ask_who(const std::vector<std::string>& command, const std::function<void()>& watch) {
  Toolchain toolchain;
  toolchain.command = command;
  const auto ask = [&](const std::string& argument) { return ask_compiler(toolchain, {argument}, watch); };
  const std::string version = ask("--version");
  const std::string triplet = first_line(ask("-dumpmachine"));
  const bool clang = version.find("clang version") != std::string::npos;
  json programs = json::object();
  programs[command[0]] = stamp_json(command[0]);
  // Clang compiles in its driver, which may stand behind a wrapper.
  for (const char* name : {clang ? "clang" : "cc1plus", "as", "ld"}) {
    std::string path = find_program(first_line(ask(fmt::format("-print-prog-name={}", name))));
    if (!path.empty()) programs[path] = stamp_json(path);
  }
  Sha256 identity;
  for (const std::string& word : command) identity.field(word);
  identity.field(version);
  for (const auto& [path, stamp] : programs.items()) {
    identity.field(path).field(stamp.at(2).dump()).field(stamp.at(3).dump());
  }
  return {{"version", first_line(version)},
          {"clang", clang},
          {"triplet", triplet},
          {"programs", programs},
          {"identity", identity.hex()}};
}

struct RemovedAtEnd {
  const std::string& folder;
  ~RemovedAtEnd() { remove_tree(folder); }
};

}  // namespace

Toolchain find_toolchain(const std::string& requested, const ProbeCache& cache) {
  std::vector<std::string> command = choose_command(requested);
  const std::string key = cache_key(command);
  if (cache.read) {
    if (std::optional<std::string> text = cache.read(key)) {
      json answer = json::parse(*text, nullptr, /*allow_exceptions=*/false);
      if (answer.is_object() && answer.contains("programs") && still_holds(answer)) {
        return from_answer(std::move(command), answer);
      }
    }
  }
  json answer = ask_who(command, cache.watch);
  if (cache.write) cache.write(key, answer.dump());
  return from_answer(std::move(command), answer);
}

std::vector<std::string> compiler_environment(const std::string& temporary_folder) {
  return {"PATH=" + search_path(), "LC_ALL=C", "TMPDIR=" + temporary_folder};
}

std::string ask_compiler(const Toolchain& toolchain, const std::vector<std::string>& arguments,
                         const std::function<void()>& watch) {
  std::string folder;
  if (int error = make_private_folder(temporary_root(), "ferrule-probe-", &folder)) {
    throw build_error(fmt::format("No temporary folder could be made in '{}' ({}); set TMPDIR to a writable folder.",
                                  temporary_root(), errno_text(error)));
  }
  const RemovedAtEnd removed{folder};
  std::vector<std::string> command = toolchain.command;
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessResult result = run_process(command, {.folder = folder,
                                               .environment = compiler_environment(folder),
                                               .output_path = folder + "/output.txt",
                                               .time_limit_s = kProbeLimitS,
                                               .watch = watch});
  std::string output;
  read_file(folder + "/output.txt", &output);
  const std::string shown = fmt::format("{}", fmt::join(command, " "));
  if (result.spawn_error != 0) {
    throw build_error(fmt::format("The C++ compiler '{}' could not be started ({}); set CXX to one that works.",
                                  toolchain.command[0], errno_text(result.spawn_error)));
  }
  if (result.timed_out) {
    throw build_error(fmt::format("The command '{}' did not end within {} s; set CXX to a compiler that works.", shown,
                                  kProbeLimitS));
  }
  if (result.signal != 0 || result.exit_status != 0) {
    throw build_error(fmt::format("The command '{}' failed with {} {}: {}", shown,
                                  result.signal ? "signal" : "exit status",
                                  result.signal ? result.signal : result.exit_status, first_error(output)));
  }
  return output;
}

}  // namespace ferrule
