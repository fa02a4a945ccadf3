// What an entry is made of and the JSON that describes it. The portable manifest is the part that travels with an
// artifact: it holds no path, host or time. manifest.json in a store is that part, local facts and a check sum.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/key.h"

namespace ferrule {

inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr char kModuleFile[] = "module.so";  // where there is one
inline constexpr char kSourceFile[] = "source.cpp";
inline constexpr char kLogFile[] = "log.txt";

// One compiled program with all its bytes.
struct Entry {
  std::string key;       // of the second level
  std::string manifest;  // portable, canonical JSON
  std::string module;    // the shared object; of several levels, one behind the other, lowest first
  std::string source;
  std::string log;    // the compiler's output; only kept in the store it was built in
  std::string local;  // canonical JSON: the command, seconds and compiler of the build; likewise
};

// What the manifest of a new entry is made from.
struct ManifestParts {
  std::string name;
  std::string binding;  // JSON text
  Ingredients program;  // first level
  Ingredients entry;    // second level
  std::string triplet;
  std::vector<std::string> features;
  BuildOptions options;  // those in the key: target, mode, sanitize, extra flags, standard library
  struct Level {
    std::string name;
    std::vector<std::string> features;
    size_t size;  // of its module
  };
  std::vector<Level> levels = {};  // of target "multi", lowest first; else there is one module for `features`
};

std::string make_manifest(const ManifestParts& parts, std::string_view module, std::string_view source);

// Reads a portable manifest back. Throws Error(Incompatible) for another schema, Error(User) where the text is no
// manifest, or its ingredients do not give `key`.
struct Manifest {
  std::string key, name, binding, program_digest, triplet;
  int abi_major = 0;
  Ingredients program, entry;
  std::vector<std::string> features;
  BuildOptions options;
  struct File {
    int64_t size = 0;
    std::string sha256;
  };
  File source;
  struct Module {
    std::string level;                  // empty where there is one
    std::vector<std::string> features;  // what a host needs to run it
    File file;
  };
  std::vector<Module> modules;  // at least one; lowest level first
};
Manifest parse_manifest(const std::string& text);

// True iff `content` has the size and the SHA-256 of `file`.
bool matches(const Manifest::File& file, std::string_view content);

// True iff `bytes` are the modules of the manifest, one behind the other.
bool has_modules(const Manifest& manifest, std::string_view bytes);

// The best module for a host with these features (sorted); null where none will run there.
const Manifest::Module* module_for(const Manifest& manifest, std::span<const std::string> host_features);

// The part of an Entry's `module` that is this one.
std::string_view bytes_of(const Manifest& manifest, const Manifest::Module& module, std::string_view modules);

// The files of an entry as they lie in a store, manifest.json included.
std::map<std::string, std::string> files_of(const Entry& entry);

// The key that the manifest among the files of an entry names; empty where it names none. Not verified.
std::string key_in(const std::map<std::string, std::string>& files);

// The program's name in the text of a manifest.json; empty where it names none. Not verified.
std::string name_in(const std::string& manifest);

// The reverse of files_of, verified: every file is listed, has its size and digest, and nothing else is there; the
// ingredients give `key`; the manifest is as it was written. Empty on success, else what is wrong.
std::string read_entry(const std::string& key, std::map<std::string, std::string> files, Entry* entry);

}  // namespace ferrule
