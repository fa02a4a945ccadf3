// A generated module that is mapped into this process and checked: the value that the loader hands to the call layer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ferrule/abi.h"

namespace ferrule {

// Mapped for the rest of the process, unless unload_module() ends it: its code and descriptor stay valid after the last
// reference is gone.
class Module {
 public:
  // `library` is what dlopen() gave; null for what something else has mapped.
  Module(const FrModule* descriptor, std::string digest, void* library = nullptr)
      : descriptor_(descriptor), digest_(std::move(digest)), library_(library) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const FrModule& descriptor() const { return *descriptor_; }
  // The digest of the file's bytes, as the caller of load_module gave it; the address for an adopted module.
  const std::string& digest() const { return digest_; }
  // Whether something else has mapped it (an import by Python), which then decides how long it lives.
  bool is_adopted() const { return library_ == nullptr; }

 private:
  friend bool unload_module(std::shared_ptr<const Module>&& module);

  const FrModule* descriptor_;
  std::string digest_;
  void* library_;
};

// Maps a shared library given by its bytes and checks its descriptor. `digest` identifies the bytes and has been
// verified by the caller; equal digests give the Module that is mapped already. The file system is not touched, so that
// nothing can come between check and use. Raises Incompatible for another ABI or missing CPU features, Internal where
// the system refuses to map the library. No function of the module runs.
std::shared_ptr<const Module> load_module(std::string_view bytes, const std::string& digest);

// The same for a file: reads it once, and takes the SHA-256 of what was read as the digest.
// Raises Incompatible when the file cannot be read.
std::shared_ptr<const Module> load_file(const std::string& path);

// The Module that is mapped under a digest already; null where none is.
std::shared_ptr<const Module> mapped_module(const std::string& digest);

// The Module of a descriptor that something else has mapped (an import by Python), after the same checks.
std::shared_ptr<const Module> adopt_module(const FrModule* descriptor);

// Raises a user error for an adopted module.
void require_unloadable(const Module& module);

// Gives up a reference, and ends the module where no other is left, those of Handles (call/handle.h) among them: then
// true, its code and data are gone, and its digest maps it anew, with fresh static data. False where others use it: it
// stays until the last of them is given up like this. Arrays and error texts that calls gave never lie in it. Raises
// what require_unloadable raises, with the reference untouched. What the module's author registered elsewhere (a
// thread, a pointer to a function) must be over; a thread-local object with a destructor keeps the code until its
// thread ends.
bool unload_module(std::shared_ptr<const Module>&& module);

// Raises Incompatible unless this library can drive the descriptor: magic, major version, size, sizes of the entries,
// required pointers, CPU features. `origin` is named in the message.
void check_descriptor(const FrModule& descriptor, std::string_view origin);

// The value of a build fact, or an empty text where the module does not record it.
std::string_view fact_of(const FrModule& descriptor, std::string_view key);

}  // namespace ferrule
