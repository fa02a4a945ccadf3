#include "artifact/key.h"

#include <dirent.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>

#include <algorithm>

#include "base/error.h"
#include "base/sha256.h"

namespace ferrule {
namespace {

const std::string* find(const Ingredients& list, const std::string& name) {
  for (const Ingredient& item : list) {
    if (item.name == name) return &item.value;
  }
  return nullptr;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* stream = opendir(folder.c_str())) {
    while (dirent* item = readdir(stream)) {
      if (item->d_name[0] != '.') names.emplace_back(item->d_name);
    }
    closedir(stream);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_header(const std::string& name) { return name.size() > 2 && name.compare(name.size() - 2, 2, ".h") == 0; }

// A folder is what is no header and can be listed; rt/ is flat today, a sub-folder counts all the same.
void collect_stamps(const std::string& root, const std::string& folder, std::map<std::string, FileStamp>* stamps) {
  for (const std::string& name : names_in(root + "/" + folder)) {
    std::string path = folder + "/" + name;
    if (!is_header(name)) {
      collect_stamps(root, path, stamps);
    } else if (FileStamp stamp; stamp_of(root + "/" + path, &stamp) == 0) {
      stamps->emplace(path, stamp);
    }
  }
}

std::string features_text(const Target& target) {
  if (target.levels.empty()) return fmt::format("{}", fmt::join(target.features, ","));
  std::string text;
  for (const Target& level : target.levels) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", level.name, fmt::join(level.features, ","));
  }
  return text;
}

}  // namespace

Ingredient ingredient(std::string name, std::string_view value) {
  if (value.size() > kIngredientLimit) return {std::move(name), "sha256:" + sha256_hex(value)};
  return {std::move(name), std::string(value)};
}

std::string digest_of(const Ingredients& ingredients) {
  Sha256 hash;
  for (const Ingredient& item : ingredients) hash.field(item.name).field(item.value);
  return hash.hex();
}

Ingredients program_ingredients(std::string_view program_text, std::string_view signature, std::string_view options,
                                std::string_view compiler_digest) {
  return {ingredient("schema", std::to_string(kStoreSchema)), ingredient("program", program_text),
          ingredient("signature", signature), ingredient("options", options),
          ingredient("compiler sources", compiler_digest)};
}

Ingredients entry_ingredients(std::string_view source, std::string_view binding, const Toolchain& toolchain,
                              const Target& target, const BuildOptions& options, std::string_view runtime_digest) {
  std::vector<std::string> flags = code_flags(toolchain, target, options);
  for (std::string& flag : link_flags(options)) flags.push_back(std::move(flag));
  return {ingredient("schema", std::to_string(kStoreSchema)),
          ingredient("source", "sha256:" + sha256_hex(source)),
          ingredient("binding", binding),
          ingredient("compiler version", toolchain.version),
          ingredient("compiler identity", toolchain.identity),
          ingredient("flags", fmt::format("{}", fmt::join(flags, "\n"))),
          ingredient("target", fmt::format("{} {}", target.name, target.march)),
          ingredient("features", features_text(target)),
          ingredient("mode", options.mode),
          ingredient("sanitize", options.sanitize),
          ingredient("runtime headers", runtime_digest),
          ingredient("triplet", toolchain.triplet),
          ingredient("libc", fmt::format("glibc {}", gnu_get_libc_version()))};
}

std::vector<IngredientChange> changes_between(const Ingredients& before, const Ingredients& after) {
  std::vector<IngredientChange> changes;
  for (const Ingredient& item : after) {
    const std::string* old = find(before, item.name);
    if (!old || *old != item.value) changes.push_back({item.name, old ? *old : "", item.value});
  }
  for (const Ingredient& item : before) {
    if (!find(after, item.name)) changes.push_back({item.name, item.value, ""});
  }
  return changes;
}

std::string HeaderDigests::digest(const std::string& include_dir) {
  const std::string root = include_dir + "/ferrule";
  Stamps stamps;
  FileStamp abi;
  if (int error = stamp_of(root + "/abi.h", &abi)) {
    throw Error(ErrorKind::Build,
                fmt::format("The header 'ferrule/abi.h' was not found in '{}' ({}); reinstall Ferrule "
                            "or correct the include folder.",
                            include_dir, errno_text(error)));
  }
  stamps.emplace("abi.h", abi);
  collect_stamps(root, "rt", &stamps);

  std::lock_guard guard(mutex_);
  Known& known = known_[include_dir];
  if (known.stamps == stamps) return known.digest;
  Sha256 hash;
  for (const auto& [path, stamp] : stamps) {
    std::string content;
    if (int error = read_file(root + "/" + path, &content)) {
      throw Error(ErrorKind::Build, fmt::format("The header '{}/{}' could not be read ({}); reinstall Ferrule.", root,
                                                path, errno_text(error)));
    }
    hash.field(path).field(content);
  }
  known.digest = hash.hex();
  known.stamps = std::move(stamps);
  return known.digest;
}

}  // namespace ferrule
