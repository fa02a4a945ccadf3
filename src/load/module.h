// A generated module that is mapped into this process and checked: the value that the loader hands to the call layer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ferrule/abi.h"

namespace ferrule {

// Mapped for the rest of the process: its code and descriptor stay valid after the last reference is gone.
class Module {
 public:
  Module(const FrModule* descriptor, std::string digest) : descriptor_(descriptor), digest_(std::move(digest)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const FrModule& descriptor() const { return *descriptor_; }
  // The digest of the file's bytes, as the caller of load_module gave it; the address for an adopted module.
  const std::string& digest() const { return digest_; }

 private:
  const FrModule* descriptor_;
  std::string digest_;
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

// Raises Incompatible unless this library can drive the descriptor: magic, major version, size, sizes of the entries,
// required pointers, CPU features. `origin` is named in the message.
void check_descriptor(const FrModule& descriptor, std::string_view origin);

// The value of a build fact, or an empty text where the module does not record it.
std::string_view fact_of(const FrModule& descriptor, std::string_view key);

}  // namespace ferrule
