// The text of a warm record on disk: the JSON in a frame with its SHA-256.
#pragma once

#include <optional>
#include <string>

namespace ferrule {

std::string framed_record(const std::string& json);

// The JSON in the frame; empty where any byte of the text was changed.
std::optional<std::string> record_in(const std::string& text);

}  // namespace ferrule
