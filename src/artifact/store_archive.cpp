#include "artifact/store_archive.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <functional>

#include "artifact/store_root.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

// After the first line come parts, each "<kind> <key> <size> <sha256>\n<bytes>", and last "end <number of parts>\n".
constexpr char kMagic[] = "ferrule store archive 1";

class Writer {
 public:
  explicit Writer(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.{}", path, staging_name())), out_(temporary_, std::ios::binary) {
    out_ << kMagic << '\n';
  }
  ~Writer() { remove_tree(temporary_); }
  Writer(const Writer&) = delete;

  void part(const char* kind, const std::string& key, const std::string& bytes) {
    out_ << kind << ' ' << key << ' ' << bytes.size() << ' ' << sha256_hex(bytes) << '\n' << bytes;
    ++parts_;
  }

  void finish() {
    out_ << "end " << parts_ << '\n';
    out_.close();
    if (!out_ || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw user_error(fmt::format("The archive cannot be written to '{}': {}.", path_, errno_text(errno)));
    }
  }

 private:
  const std::string path_, temporary_;
  std::ofstream out_;
  int parts_ = 0;
};

struct Part {
  std::string kind, key, bytes;
};

// Hands every part to `take`, verified; throws at the first byte that is not as it was written.
void read_archive(const std::string& path, const std::function<void(const Part&)>& take) {
  FileStatus status;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  if (FileSystem().status(path, &status) != 0 || !in) {
    throw user_error(fmt::format("The archive '{}' cannot be read: {}.", path, errno_text(errno)));
  }
  if (!std::getline(in, line) || line != kMagic) {
    throw user_error(fmt::format("'{}' is no archive of a store of version 1.", path));
  }
  auto damaged = [&] { return user_error(fmt::format("The archive '{}' is damaged or cut short.", path)); };
  for (int parts = 0; std::getline(in, line); ++parts) {
    // A last line without its end was cut.
    if (line == fmt::format("end {}", parts) && !in.eof() && in.peek() == std::ifstream::traits_type::eof()) return;
    const size_t first = line.find(' '), second = first + 65, third = line.find(' ', second + 1);
    if (first == std::string::npos || third == std::string::npos || line[second] != ' ') throw damaged();
    Part part{line.substr(0, first), line.substr(first + 1, 64), ""};
    int64_t size = -1;
    const auto [end, error] = std::from_chars(line.data() + second + 1, line.data() + third, size);
    if (error != std::errc() || end != line.data() + third || size < 0 || size > status.size) throw damaged();
    part.bytes.resize(static_cast<size_t>(size));
    if (!in.read(part.bytes.data(), size) || sha256_hex(part.bytes) != line.substr(third + 1)) throw damaged();
    if (!is_sha256_hex(part.key) || (part.kind != "entry" && part.kind != "record")) throw damaged();
    if (part.kind == "entry") {
      const Artifact artifact = Artifact::from_bytes(part.bytes);
      if (artifact.key() != part.key || !artifact.has_module()) throw damaged();
    }
    take(part);
  }
  throw damaged();
}

Entry entry_of(const Part& part) {
  Artifact artifact = Artifact::from_bytes(part.bytes);
  Entry entry;
  entry.key = artifact.key();
  entry.manifest = artifact.manifest();
  entry.module = artifact.module();
  entry.source = artifact.source();
  entry.local = "{}";
  return entry;
}

}  // namespace

Archived export_store(Store& store, const std::string& path, const std::vector<std::string>& keys) {
  Archived out;
  Writer writer(path);
  auto add = [&](const std::string& key) {
    std::optional<Entry> entry = store.lookup(key);
    if (!entry) return false;
    writer.part("entry", key, Artifact(*entry, true).to_bytes());
    ++out.entries;
    return true;
  };
  for (const std::string& key : keys) {
    if (!add(key)) throw user_error(fmt::format("The store '{}' has no sound entry '{}'.", store.root(), key));
  }
  if (keys.empty()) {
    for (const StoredEntry& entry : store.entries()) add(entry.key);
    for (const std::string& key : store.warm_keys()) {
      if (std::optional<std::string> record = store.read_warm(key)) {
        writer.part("record", key, *record);
        ++out.records;
      }
    }
  }
  writer.finish();
  return out;
}

Archived import_store(Store& store, const std::string& path) {
  read_archive(path, [](const Part&) {});
  Archived out;
  read_archive(path, [&](const Part& part) {
    const bool stored =
        part.kind == "entry" ? store.publish(entry_of(part)).has_value() : store.write_warm(part.key, part.bytes);
    if (!stored) {
      throw user_error(fmt::format("The store '{}' cannot take what is in the archive '{}'.", store.root(), path));
    }
    ++(part.kind == "entry" ? out.entries : out.records);
  });
  return out;
}

}  // namespace ferrule
