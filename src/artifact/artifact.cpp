#include "artifact/artifact.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "artifact/file_system.h"
#include "artifact/manifest.h"
#include "artifact/placement.h"
#include "artifact/store_root.h"
#include "base/error.h"
#include "base/file.h"

namespace ferrule {
namespace {

constexpr std::string_view kMagic = "ferrule artifact 1\n";

// Takes "<length>\n<bytes>" from the front of `rest`.
std::string take_part(std::string_view* rest) {
  size_t length = 0;
  auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), length);
  const size_t used = static_cast<size_t>(end - rest->data()) + 1;
  if (error != std::errc() || used > rest->size() || *end != '\n' || length > rest->size() - used) {
    throw user_error("The artifact is damaged: it is cut short.");
  }
  std::string part(rest->substr(used, length));
  rest->remove_prefix(used + length);
  return part;
}

Artifact open_folder(const std::string& path) {
  std::map<std::string, std::string> files;
  if (int error = FileSystem().read_folder(path, &files)) {
    throw user_error(fmt::format("The artifact in '{}' cannot be read: {}.", path, errno_text(error)));
  }
  // The folder's name says nothing once it has been copied out of a store: its own key holds.
  Entry entry;
  std::string key = key_in(files);
  if (std::string damage = read_entry(key, std::move(files), &entry); !damage.empty()) {
    throw user_error(fmt::format("The artifact in '{}' is damaged: {}.", path, damage));
  }
  return Artifact(entry, true);
}

}  // namespace

Artifact::Artifact(const Entry& entry, bool keep_module)
    : Artifact(Data{entry.key, parse_manifest(entry.manifest).name, entry.manifest, entry.source,
                    keep_module ? entry.module : std::string()}) {}

Artifact Artifact::with_module(std::string module) const {
  if (!has_modules(parse_manifest(manifest()), module)) {
    throw internal_error(fmt::format("The module given to artifact '{}' is not its own.", name()));
  }
  Data data = *data_;
  data.module = std::move(module);
  return Artifact(std::move(data));
}

Artifact Artifact::without_module() const {
  Data data = *data_;
  data.module.clear();
  return Artifact(std::move(data));
}

std::string Artifact::to_bytes() const {
  std::string bytes(kMagic);
  for (const std::string* part : {&data_->manifest, &data_->source, &data_->module}) {
    bytes += std::to_string(part->size());
    bytes += '\n';
    bytes += *part;
  }
  return bytes;
}

Artifact Artifact::from_bytes(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    throw user_error("These bytes are not a Ferrule artifact of version 1.");
  }
  bytes.remove_prefix(kMagic.size());
  std::string manifest = take_part(&bytes);
  std::string source = take_part(&bytes);
  std::string module = take_part(&bytes);
  if (!bytes.empty()) throw user_error("The artifact is damaged: something follows it.");
  return from_parts(std::move(manifest), std::move(source), std::move(module));
}

Artifact Artifact::from_parts(std::string text, std::string source, std::string module) {
  const Manifest manifest = parse_manifest(text);
  if ((!source.empty() && !matches(manifest.source, source)) || (!module.empty() && !has_modules(manifest, module))) {
    throw user_error(fmt::format("Artifact '{}' is damaged: its content does not match its manifest.", manifest.name));
  }
  return Artifact(Data{manifest.key, manifest.name, std::move(text), std::move(source), std::move(module)});
}

void save_artifact(const Artifact& artifact, const std::string& path) {
  const std::string temporary = fmt::format("{}.{}", path, staging_name());
  int error = write_new_file(temporary, artifact.to_bytes());
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
    remove_tree(temporary);
  }
  if (error != 0) {
    throw user_error(fmt::format("The artifact cannot be saved to '{}': {}.", path, errno_text(error)));
  }
}

Artifact open_artifact(const std::string& path) {
  FileStatus status;
  if (FileSystem().status(path, &status) == 0 && status.kind == FileKind::Folder) return open_folder(path);
  const std::filesystem::path file(path);
  std::string bytes;
  const int error = read_file(path, &bytes);
  const bool is_saved = bytes.starts_with(kMagic);  // under any name
  if (!is_saved && (file.extension() == ".so" || file.extension() == ".json")) {
    return open_placed(file.has_parent_path() ? file.parent_path().string() : ".", file.stem().string());
  }
  if (error != 0) {
    throw user_error(fmt::format("The artifact '{}' cannot be read: {}.", path, errno_text(error)));
  }
  return Artifact::from_bytes(bytes);
}

}  // namespace ferrule
