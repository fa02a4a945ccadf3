#include "artifact/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/sha256.h"
#include "ferrule/abi.h"

namespace ferrule {
namespace {

using nlohmann::json;

json list_of(const Ingredients& ingredients) {
  json list = json::array();
  for (const Ingredient& item : ingredients) list.push_back({item.name, item.value});
  return list;
}

Ingredients ingredients_of(const json& list) {
  Ingredients out;
  for (const json& item : list) out.push_back({item.at(0), item.at(1)});
  return out;
}

json file_json(std::string_view content) { return {{"size", content.size()}, {"sha256", sha256_hex(content)}}; }

Manifest::File file_of(const json& item) { return {item.at("size"), item.at("sha256")}; }

json options_json(const BuildOptions& options) {
  return {{"target", options.target},
          {"mode", options.mode},
          {"sanitize", options.sanitize},
          {"extra_flags", options.extra_flags},
          {"standard_library", options.standard_library}};
}

BuildOptions options_of(const json& item) {
  BuildOptions options;
  options.target = item.at("target");
  options.mode = item.at("mode");
  options.sanitize = item.at("sanitize");
  options.extra_flags = item.at("extra_flags").get<std::vector<std::string>>();
  options.standard_library = item.at("standard_library");
  return options;
}

std::string module_file(const std::string& level) {
  return level.empty() ? kModuleFile : fmt::format("module-{}.so", level);
}

// A level is part of a file's name.
bool is_level_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string::npos;
}

// Bytes that are not UTF-8 (in a log or a path) are replaced; whatever is compared later is compared as text.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::vector<Manifest::Module> modules_of(const json& root) {
  const json &needs = root.at("needs"), &files = root.at("files");
  if (!needs.contains("levels")) return {{"", needs.at("features"), file_of(files.at(kModuleFile))}};
  std::vector<Manifest::Module> modules;
  for (const json& level : needs.at("levels")) {
    const std::string name = level.at("name");
    if (!is_level_name(name)) throw user_error("The artifact's manifest is damaged: a level has no proper name.");
    modules.push_back({name, level.at("features"), file_of(files.at(module_file(name)))});
  }
  if (modules.empty()) throw user_error("The artifact's manifest is damaged: it has no level.");
  return modules;
}

Manifest manifest_of(const json& root) {
  Manifest manifest;
  manifest.key = root.at("key");
  manifest.name = root.at("name");
  manifest.binding = text_of(root.at("binding"));
  manifest.program_digest = root.at("program").at("digest");
  manifest.program = ingredients_of(root.at("program").at("ingredients"));
  manifest.entry = ingredients_of(root.at("ingredients"));
  manifest.abi_major = root.at("needs").at("abi");
  manifest.triplet = root.at("needs").at("triplet");
  manifest.features = root.at("needs").at("features").get<std::vector<std::string>>();
  manifest.options = options_of(root.at("options"));
  manifest.modules = modules_of(root);
  manifest.source = file_of(root.at("files").at(kSourceFile));
  return manifest;
}

// The text at a place in a manifest.json; empty where none is there.
std::string text_at(const std::string& manifest, const char* place) {
  json root = json::parse(manifest, nullptr, /*allow_exceptions=*/false);
  const json::json_pointer path(place);
  return root.is_object() && root.contains(path) && root[path].is_string() ? root[path].get<std::string>() : "";
}

}  // namespace

std::string make_manifest(const ManifestParts& parts, std::string_view module, std::string_view source) {
  json binding = json::parse(parts.binding, nullptr, /*allow_exceptions=*/false);
  if (binding.is_discarded()) throw internal_error("The binding of a module is not JSON text.");
  json root = {{"schema", kStoreSchema},
               {"key", digest_of(parts.entry)},
               {"name", parts.name},
               {"binding", binding},
               {"program", {{"digest", digest_of(parts.program)}, {"ingredients", list_of(parts.program)}}},
               {"ingredients", list_of(parts.entry)},
               {"needs", {{"abi", FR_ABI_MAJOR}, {"triplet", parts.triplet}, {"features", parts.features}}},
               {"options", options_json(parts.options)},
               {"files", {{kSourceFile, file_json(source)}}}};
  if (parts.levels.empty()) root["files"][kModuleFile] = file_json(module);
  for (const ManifestParts::Level& level : parts.levels) {
    root["needs"]["levels"].push_back({{"name", level.name}, {"features", level.features}});
    root["files"][module_file(level.name)] = file_json(module.substr(0, level.size));
    module.remove_prefix(level.size);
  }
  return text_of(root);
}

Manifest parse_manifest(const std::string& text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("schema")) throw user_error("The artifact's manifest is not readable.");
  if (root["schema"] != kStoreSchema) {
    throw Error(ErrorKind::Incompatible,
                fmt::format("The artifact has schema {}, this version of Ferrule reads schema {}; compile it again.",
                            root["schema"].dump(), kStoreSchema));
  }
  Manifest manifest;
  try {
    manifest = manifest_of(root);
  } catch (const json::exception& error) {
    throw user_error(fmt::format("The artifact's manifest is damaged: {}.", error.what()));
  }
  if (digest_of(manifest.entry) != manifest.key || digest_of(manifest.program) != manifest.program_digest) {
    throw user_error("The artifact's manifest is damaged: its ingredients do not give its key.");
  }
  return manifest;
}

bool matches(const Manifest::File& file, std::string_view content) {
  return file.size == static_cast<int64_t>(content.size()) && file.sha256 == sha256_hex(content);
}

bool has_modules(const Manifest& manifest, std::string_view bytes) {
  for (const Manifest::Module& module : manifest.modules) {
    if (module.file.size < 0 || module.file.size > static_cast<int64_t>(bytes.size())) return false;
    const size_t size = static_cast<size_t>(module.file.size);
    if (!matches(module.file, bytes.substr(0, size))) return false;
    bytes.remove_prefix(size);
  }
  return bytes.empty();
}

const Manifest::Module* module_for(const Manifest& manifest, std::span<const std::string> host_features) {
  const Manifest::Module* best = nullptr;
  for (const Manifest::Module& module : manifest.modules) {
    const bool runs = std::all_of(module.features.begin(), module.features.end(), [&](const std::string& name) {
      return std::binary_search(host_features.begin(), host_features.end(), name);
    });
    if (runs) best = &module;
  }
  return best;
}

std::string_view bytes_of(const Manifest& manifest, const Manifest::Module& module, std::string_view modules) {
  for (const Manifest::Module& each : manifest.modules) {
    const size_t size = static_cast<size_t>(each.file.size);
    if (&each == &module) return modules.substr(0, size);
    modules.remove_prefix(size);
  }
  throw internal_error("The module is none of the manifest's.");
}

std::map<std::string, std::string> files_of(const Entry& entry) {
  json local = json::parse(entry.local);
  local["log"] = file_json(entry.log);
  const std::string body = text_of({{"artifact", json::parse(entry.manifest)}, {"local", local}});
  const std::string manifest = text_of({{"check", sha256_hex(body)}, {"body", json::parse(body)}});
  std::map<std::string, std::string> files = {
      {kSourceFile, entry.source}, {kLogFile, entry.log}, {kManifestFile, manifest}};
  const Manifest parsed = parse_manifest(entry.manifest);
  for (const Manifest::Module& module : parsed.modules) {
    files[module_file(module.level)] = bytes_of(parsed, module, entry.module);
  }
  return files;
}

std::string key_in(const std::map<std::string, std::string>& files) {
  auto found = files.find(kManifestFile);
  return found == files.end() ? "" : text_at(found->second, "/body/artifact/key");
}

std::string name_in(const std::string& manifest) { return text_at(manifest, "/body/artifact/name"); }

std::string read_entry(const std::string& key, std::map<std::string, std::string> files, Entry* entry) {
  if (!files.contains(kManifestFile)) return fmt::format("'{}' is missing", kManifestFile);
  json root = json::parse(files[kManifestFile], nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains("check") || !root.contains("body")) return "the manifest is not readable";
  // The text is canonical, so one comparison finds every changed byte that the check sum does not see.
  if (text_of(root) != files[kManifestFile] || root["check"] != sha256_hex(text_of(root["body"]))) {
    return "the manifest was changed";
  }
  Manifest manifest;
  Manifest::File log;
  const json& body = root["body"];
  try {
    entry->manifest = text_of(body.at("artifact"));
    log = file_of(body.at("local").at("log"));
    json local = body.at("local");
    local.erase("log");
    entry->local = text_of(local);
    manifest = parse_manifest(entry->manifest);
  } catch (const json::exception& error) {
    return error.what();
  } catch (const Error& error) {
    return error.what();
  }
  if (manifest.key != key) return "it is the entry of another key";
  std::map<std::string, Manifest::File> listed = {{kSourceFile, manifest.source}, {kLogFile, log}};
  for (const Manifest::Module& module : manifest.modules) listed[module_file(module.level)] = module.file;
  for (const auto& [name, file] : listed) {
    if (!files.contains(name)) return fmt::format("'{}' is missing", name);
    if (!matches(file, files[name])) return fmt::format("'{}' was changed", name);
  }
  if (files.size() != listed.size() + 1) return "it holds a file that is not its own";
  entry->key = key;
  entry->module = std::move(files[module_file(manifest.modules.front().level)]);
  for (size_t i = 1; i < manifest.modules.size(); ++i) entry->module += files[module_file(manifest.modules[i].level)];
  entry->source = std::move(files[kSourceFile]);
  entry->log = std::move(files[kLogFile]);
  return "";
}

}  // namespace ferrule
