#include "build/compiler_output.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace ferrule {
namespace {

constexpr size_t kLineLimit = 600;  // names of templates can be longer than all that a reader wants to know

// Bytes that begin at `text[at]` and are one character of UTF-8; 0 where none is.
size_t character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (first >= 0xf5 || length == 0 || at + length > text.size()) return 0;
  unsigned value = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(at + i) & 0x3fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  return overlong || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? 0 : length;
}

// Without escape sequences (colours, links) and control characters; bytes that are no UTF-8 become question marks.
std::string readable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\33') {
      const bool sequence = i + 1 < text.size() && text[i + 1] == '[';
      const bool link = i + 1 < text.size() && text[i + 1] == ']';
      i += sequence || link ? 2 : 1;
      if (sequence) {
        while (i < text.size() && !(text[i] >= '@' && text[i] <= '~')) ++i;
      } else if (link) {
        while (i < text.size() && text[i] != '\a' && text[i] != '\33') ++i;
      }
      if (sequence || (link && i < text.size() && text[i] == '\a')) ++i;
      continue;
    }
    const size_t length = character_at(text, i);
    if (length == 0) {
      out += '?';
    } else if (length > 1 || (text[i] >= ' ' && text[i] != 0x7f)) {
      out += text.substr(i, length);
    } else if (text[i] == '\t') {
      out += ' ';
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string shortened(const std::string& line) {
  if (line.size() <= kLineLimit) return line;
  size_t end = 0;
  while (end + character_at(line, end) <= kLineLimit) end += character_at(line, end);
  return line.substr(0, end) + "...";
}

bool has(std::string_view line, std::string_view text) { return line.find(text) != line.npos; }

// What the driver says when the linker has said what is wrong.
bool is_summary(std::string_view line) {
  return has(line, "error: ld returned") || has(line, "error: linker command failed");
}

bool is_error(std::string_view line) {
  if (is_summary(line) || has(line, "warning: ")) return false;
  for (const char* mark : {"rror: ", "undefined reference", "undefined symbol", "multiple definition of"}) {
    if (has(line, mark)) return true;
  }
  // "/usr/bin/ld: cannot find -lx", but not "/usr/bin/ld: x.o: in function `f()':"
  return has(line, "ld: ") && !line.ends_with("':");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(readable(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::string_view file_of(std::string_view line) { return line.substr(0, line.find(':')); }

// Where a template was asked for that the error of line `error` is in: GCC says it before, Clang behind.
std::string origin_of(const std::vector<std::string>& lines, size_t error) {
  constexpr std::string_view kGcc = ":   required from here", kClang = ": note: in instantiation of ";
  for (size_t i = error; i-- > 0 && !is_error(lines[i]);) {
    if (lines[i].ends_with(kGcc)) return lines[i].substr(0, lines[i].size() - kGcc.size());
  }
  std::string last;
  for (size_t i = error + 1; i < lines.size() && !is_error(lines[i]); ++i) {
    if (lines[i].ends_with("requested here") && has(lines[i], kClang)) last = lines[i].substr(0, lines[i].find(kClang));
  }
  return last;
}

}  // namespace

std::string first_error(const std::string& output) {
  const std::vector<std::string> lines = lines_of(output);
  std::string last = "it printed nothing";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    last = lines[i];
    if (!is_error(last)) continue;
    const std::string origin = origin_of(lines, i);
    const bool elsewhere = !origin.empty() && file_of(origin) != file_of(last);
    return shortened(last) + (elsewhere ? fmt::format(" (required from {})", origin) : "");
  }
  return shortened(last);
}

}  // namespace ferrule
