#include "base/sha256.h"

#include <algorithm>
#include <array>

namespace ferrule {

Sha256::Sha256() { SHA256Init(&context_); }

Sha256& Sha256::update(std::string_view bytes) {
  SHA256Update(&context_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return *this;
}

Sha256& Sha256::field(std::string_view bytes) {
  update(std::to_string(bytes.size()));
  update(":");
  return update(bytes);
}

std::string Sha256::hex() {
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256Final(digest.data(), &context_);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) { return Sha256().update(bytes).hex(); }

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace ferrule
