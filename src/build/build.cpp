#include "build/build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "base/sha256.h"
#include "build/compiler_output.h"

namespace ferrule {
namespace {

constexpr int64_t kLogLimit = 8 << 20;

Error build_error(std::string message) { return Error(ErrorKind::Build, std::move(message)); }

// A folder that vanishes with its content, unless it is released.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& parent) {
    // The name tells a sweeper whose it is.
    if (int error = make_private_folder(parent, work_folder_prefix(), &path_)) {
      throw build_error(fmt::format("No temporary folder could be made in '{}' ({}); set TMPDIR to a writable folder.",
                                    parent, errno_text(error)));
    }
  }
  ~WorkFolder() {
    if (!path_.empty()) remove_tree(path_);
  }
  WorkFolder(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

  // Keeps the content under `parent`/failed-<digest>, in the place of an older one, and returns the folder it is in.
  std::string keep(const std::string& parent, const std::string& digest) {
    std::string kept = fmt::format("{}/failed-{}", parent, digest.substr(0, 16));
    remove_tree(kept);
    if (std::rename(path_.c_str(), kept.c_str()) != 0) kept = path_;
    path_.clear();
    return kept;
  }

 private:
  static std::string work_folder_prefix() {
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    return fmt::format("{}-{}-", host, getpid());
  }
  std::string path_;
};

std::vector<std::string> command_of(const Toolchain& toolchain, const Target& target, const BuildOptions& options,
                                    const std::string& folder, const std::string& digest) {
  std::vector<std::string> command = toolchain.command;
  for (std::string& flag : code_flags(toolchain, target, options)) command.push_back(std::move(flag));
  command.push_back("-frandom-seed=" + digest.substr(0, 16));
  command.push_back("-ffile-prefix-map=" + folder + "=.");
  if (!options.include_dir.empty()) {
    command.push_back("-ffile-prefix-map=" + options.include_dir + "=include");
    command.push_back("-isystem");
    command.push_back(options.include_dir);
  }
  for (const char* word : {"-pipe", "-x", "c++", "source.cpp", "-x", "none", "-o", "module.so"}) {
    command.push_back(word);
  }
  for (std::string& flag : link_flags(options)) command.push_back(std::move(flag));
  return command;
}

bool is_shared_object(const std::string& bytes) {
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN;
}

// How the process ended, where it did not succeed; empty where it did.
std::string failure_of(const ProcessResult& result, const BuildOptions& options, const std::string& module) {
  if (result.timed_out) return fmt::format("did not end within {} s", options.time_limit_s);
  if (result.signal != 0) return fmt::format("was killed by signal {}", result.signal);
  if (result.exit_status != 0) return fmt::format("failed with exit status {}", result.exit_status);
  if (!is_shared_object(module)) return "wrote no shared object";
  return "";
}

}  // namespace

Binary build(const std::string& source, const Toolchain& toolchain, const Target& target, const BuildOptions& options) {
  const std::string parent = options.work_folder.empty() ? temporary_root() : options.work_folder;
  const std::string digest = sha256_hex(source);
  WorkFolder work(parent);
  const std::string& folder = work.path();
  if (int error = write_new_file(folder + "/source.cpp", source)) {
    throw build_error(fmt::format("The source could not be written to '{}' ({}); set TMPDIR to a folder with room.",
                                  folder, errno_text(error)));
  }
  Binary binary;
  binary.command = command_of(toolchain, target, options, folder, digest);
  ProcessResult result = run_process(binary.command, {.folder = folder,
                                                      .environment = compiler_environment(folder),
                                                      .output_path = folder + "/log.txt",
                                                      .time_limit_s = options.time_limit_s,
                                                      .watch = options.watch});
  const std::string shown = fmt::format("{}", fmt::join(binary.command, " "));
  if (result.spawn_error != 0) {
    throw build_error(fmt::format("The C++ compiler '{}' could not be started ({}); set CXX to one that works.",
                                  toolchain.command[0], errno_text(result.spawn_error)));
  }
  binary.seconds = result.seconds;
  read_file(folder + "/log.txt", &binary.log, kLogLimit);
  read_file(folder + "/module.so", &binary.bytes);
  if (std::string failure = failure_of(result, options, binary.bytes); !failure.empty()) {
    const std::string kept = work.keep(parent, digest);
    throw build_error(
        fmt::format("The C++ compiler {}: {}; the source is kept in '{}/source.cpp', the command was '{}'.", failure,
                    first_error(binary.log), kept, shown));
  }
  return binary;
}

}  // namespace ferrule
