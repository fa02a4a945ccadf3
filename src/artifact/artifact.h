// A compiled program as a frozen value: key, manifest, source, and the module's bytes or where a store has them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace ferrule {

struct Entry;

// Cheap to copy, safe among threads; holds no live handle. Equality and hash are those of key().
class Artifact {
 public:
  // Of an entry with all its bytes; `keep_module` false leaves the module to the store that has the entry.
  Artifact(const Entry& entry, bool keep_module);

  const std::string& key() const { return data_->key; }  // second level, 64 hexadecimal digits
  const std::string& name() const { return data_->name; }
  const std::string& manifest() const { return data_->manifest; }  // portable, canonical JSON
  const std::string& source() const { return data_->source; }      // empty where it was not kept with the module
  bool has_module() const { return !data_->module.empty(); }
  const std::string& module() const { return data_->module; }  // as Entry's; empty unless has_module()

  // The same artifact by value or by reference.
  Artifact with_module(std::string module) const;
  Artifact without_module() const;

  // One text for pickles and files: equal artifacts of equal form give equal bytes in any process.
  std::string to_bytes() const;
  // Throws Error(User) where the bytes are no artifact or are damaged, Error(Incompatible) for another version.
  static Artifact from_bytes(std::string_view bytes);
  // The same from its parts: module and source may be empty. Throws as from_bytes.
  static Artifact from_parts(std::string manifest, std::string source, std::string module);

  bool operator==(const Artifact& other) const { return key() == other.key(); }

 private:
  struct Data {
    std::string key, name, manifest, source, module;
  };
  explicit Artifact(Data data) : data_(std::make_shared<const Data>(std::move(data))) {}
  std::shared_ptr<const Data> data_;
};

// Writes the artifact to a file, whole or not at all, over an older file. It should have its module.
void save_artifact(const Artifact& artifact, const std::string& path);

// Reads a file that save_artifact wrote, the module or the manifest that place_artifact wrote (NAME.so, NAME.json), or
// the folder of one entry copied out of a store.
Artifact open_artifact(const std::string& path);

}  // namespace ferrule
