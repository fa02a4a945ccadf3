// Two-level keys. The first names the emitted source (program, signature, options, compiler sources); the second names
// the entry in a store (source, binding, toolchain, flags, target, runtime headers). Both are digests of an ordered
// list of named ingredients, which is kept beside the entry so that two of them can be compared.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "build/flags.h"

namespace ferrule {

inline constexpr int kStoreSchema = 1;

struct Ingredient {
  std::string name;
  std::string value;  // at most kIngredientLimit bytes; a longer one is "sha256:" and its digest
  bool operator==(const Ingredient&) const = default;
};
using Ingredients = std::vector<Ingredient>;

inline constexpr size_t kIngredientLimit = 4096;

// Makes an ingredient, shortening the value where it is long.
Ingredient ingredient(std::string name, std::string_view value);

// SHA-256 over names and values in order, unambiguous for any content.
std::string digest_of(const Ingredients& ingredients);

// The ingredients of the first level. `signature` and `options` are canonical texts; `compiler_digest` is the digest of
// the compiler's own sources.
Ingredients program_ingredients(std::string_view program_text, std::string_view signature, std::string_view options,
                                std::string_view compiler_digest);

// The ingredients of the second level. `runtime_digest` is HeaderDigests::digest of options.include_dir.
Ingredients entry_ingredients(std::string_view source, std::string_view binding, const Toolchain& toolchain,
                              const Target& target, const BuildOptions& options, std::string_view runtime_digest);

struct IngredientChange {
  std::string name;
  std::string before;  // empty where only the other list has it
  std::string after;
};

// What differs from `before` to `after`, in the order of `after`, then what only `before` has.
std::vector<IngredientChange> changes_between(const Ingredients& before, const Ingredients& after);

// Digest of the headers that emitted code includes: abi.h and all of rt/. Files are read again only when their stamps
// have changed. Safe among threads.
class HeaderDigests {
 public:
  // Digest over names and contents below `include_dir`/ferrule; throws Error(Build) where abi.h is not there.
  std::string digest(const std::string& include_dir);

 private:
  using Stamps = std::map<std::string, FileStamp>;  // by path relative to include_dir/ferrule
  struct Known {
    Stamps stamps;
    std::string digest;
  };
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace ferrule
