#include "artifact/warm_record.h"

#include <fmt/format.h>

#include "base/sha256.h"

namespace ferrule {
namespace {

constexpr std::string_view kHead = "{\"sha256\": \"";
constexpr std::string_view kMiddle = "\", \"record\": ";
constexpr std::string_view kTail = "}\n";

}  // namespace

std::string framed_record(const std::string& json) {
  return fmt::format("{}{}{}{}{}", kHead, sha256_hex(json), kMiddle, json, kTail);
}

std::optional<std::string> record_in(const std::string& text) {
  const size_t start = kHead.size() + 64 + kMiddle.size();
  if (text.size() < start + kTail.size()) return std::nullopt;
  std::string record = text.substr(start, text.size() - start - kTail.size());
  // Rebuilt and compared as a whole, so that no byte of the frame goes unchecked either.
  if (text != framed_record(record)) return std::nullopt;
  return record;
}

}  // namespace ferrule
