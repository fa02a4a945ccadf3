// Whole characters of UTF-8 text, for messages that quote one.
#pragma once

#include <string_view>

namespace ferrule {

// The character that begins at a byte, with the bytes that continue it.
inline std::string_view character_at(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && end - at < 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return text.substr(at, end - at);
}

}  // namespace ferrule
