// SHA-256, the one digest of the project: keys, file verification and stamps.
#pragma once

#include <sha256.h>

#include <string>
#include <string_view>

namespace ferrule {

// Incremental SHA-256; usable once, until hex().
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::string_view bytes);
  // The same as update() of the length in decimal, a colon and the bytes: unambiguous in a sequence of fields.
  Sha256& field(std::string_view bytes);
  // 64 lower-case hexadecimal digits.
  std::string hex();

 private:
  SHA2_CTX context_;
};

// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// True iff `text` is 64 lower-case hexadecimal digits.
bool is_sha256_hex(std::string_view text);

}  // namespace ferrule
