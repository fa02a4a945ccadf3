#include "load/module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const Module>> by_digest;
  uint32_t mapped = 0;
};

// Never destroyed: modules may be called from threads that outlive static destruction.
Registry& registry() {
  static Registry* instance = new Registry;
  return *instance;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw internal_error(
          fmt::format("A module of {} bytes cannot be kept in memory: {}.", bytes.size(), errno_text(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// glibc recognises a library by the name it was opened with before it looks at the file, and descriptor numbers are
// used again: a second module under "/proc/self/fd/5" would silently be the first. So `serial` is written into the
// path, a bit as "/" or "/./" each, which resolves to the same file.
std::string unique_path(int fd, uint32_t serial) {
  std::string path = "/proc/self/fd";
  for (int bit = 0; bit < 32; ++bit) path += ((serial >> bit) & 1) != 0 ? "/./" : "/";
  return path + std::to_string(fd);
}

struct Unmap {
  void operator()(void* library) const { dlclose(library); }
};

struct Mapped {
  std::unique_ptr<void, Unmap> library;
  const FrModule* descriptor;
};

Mapped map_library(std::string_view bytes, const std::string& label, uint32_t serial) {
  const UniqueFd file(memfd_create("ferrule-module", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) throw internal_error(fmt::format("No memory file for a module: {}.", errno_text(errno)));
  write_all(file.get(), bytes);
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    throw internal_error(fmt::format("The memory file of a module cannot be sealed: {}.", errno_text(errno)));
  std::unique_ptr<void, Unmap> library(dlopen(unique_path(file.get(), serial).c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr)
    throw Error(ErrorKind::Incompatible,
                fmt::format("'{}' cannot be mapped as a shared library: {}.", label, dlerror()));
  const void* symbol = dlsym(library.get(), FR_MODULE_SYMBOL);
  if (symbol == nullptr)
    throw Error(ErrorKind::Incompatible,
                fmt::format("'{}' does not export '{}', so it is not a Ferrule module.", label, FR_MODULE_SYMBOL));
  const auto* descriptor = static_cast<const FrModule*>(symbol);
  check_descriptor(*descriptor, label);
  return {std::move(library), descriptor};
}

std::shared_ptr<const Module> load_labelled(std::string_view bytes, const std::string& digest,
                                            const std::string& label) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  if (const auto found = known.by_digest.find(digest); found != known.by_digest.end()) return found->second;
  Mapped mapped = map_library(bytes, label, known.mapped++);
  auto module = std::make_shared<const Module>(mapped.descriptor, digest, mapped.library.get());
  known.by_digest.emplace(digest, module);
  mapped.library.release();  // stays mapped without an owner
  return module;
}

}  // namespace

void require_unloadable(const Module& module) {
  if (module.is_adopted())
    throw user_error(fmt::format("'{}' cannot be unloaded, because its module was imported; Python keeps what it has "
                                 "imported until the process ends.",
                                 module.descriptor().name),
                     Builtin::Runtime);
}

bool unload_module(std::shared_ptr<const Module>&& module) {
  require_unloadable(*module);
  Registry& known = registry();
  std::shared_ptr<const Module> last;
  {
    const std::lock_guard lock(known.mutex);
    // This reference and the registry's: who has none can get one from the registry alone.
    if (module.use_count() > 2) {
      module.reset();  // under the lock, so that of two threads that end together one sees the other gone
      return false;
    }
    std::atomic_thread_fence(std::memory_order_acquire);  // after what the others did before they let go
    last = std::move(module);
    known.by_digest.erase(last->digest());
  }
  // Outside of the lock: the module's static objects end here, and its author's code with them.
  if (dlclose(last->library_) != 0) throw internal_error(fmt::format("A module cannot be unmapped: {}.", dlerror()));
  return true;
}

std::shared_ptr<const Module> load_module(std::string_view bytes, const std::string& digest) {
  return load_labelled(bytes, digest, digest.substr(0, 16));
}

std::shared_ptr<const Module> mapped_module(const std::string& digest) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  const auto found = known.by_digest.find(digest);
  return found == known.by_digest.end() ? nullptr : found->second;
}

std::shared_ptr<const Module> load_file(const std::string& path) {
  std::error_code unresolved;
  const std::filesystem::path resolved = std::filesystem::canonical(path, unresolved);
  std::string bytes;
  const int error = unresolved ? unresolved.value() : read_file(resolved.string(), &bytes);
  if (error != 0)
    throw Error(ErrorKind::Incompatible, fmt::format("'{}' cannot be read: {}.", path, errno_text(error)));
  return load_labelled(bytes, sha256_hex(bytes), path);
}

std::shared_ptr<const Module> adopt_module(const FrModule* descriptor) {
  check_descriptor(*descriptor, descriptor->name != nullptr ? descriptor->name : "?");
  const std::string identity = fmt::format("mapped-{:x}", reinterpret_cast<uintptr_t>(descriptor));
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  auto& module = known.by_digest[identity];
  if (!module) module = std::make_shared<const Module>(descriptor, identity);
  return module;
}

}  // namespace ferrule
