// Keys: which change makes another one.
#include <gtest/gtest.h>

#include "testing.h"

namespace ferrule {
namespace {

struct Inputs {
  std::string source = "int x;", binding = "{}", runtime = "rt";
  Toolchain toolchain{{"/usr/bin/g++"}, CompilerKind::Gcc, "g++ 12", "identity", "x86_64-linux-gnu"};
  Target target{"native", "znver3", {"-march=znver3"}, {"avx2"}};
  BuildOptions options;
  std::string key() const { return digest_of(list()); }
  Ingredients list() const { return entry_ingredients(source, binding, toolchain, target, options, runtime); }
};

TEST(Key, EveryIngredientChangesItAndIsNamed) {
  const Inputs base;
  const std::pair<std::string, std::function<void(Inputs&)>> changes[] = {
      {"source", [](Inputs& in) { in.source = "int y;"; }},
      {"binding", [](Inputs& in) { in.binding = "{\"a\":1}"; }},
      {"compiler version", [](Inputs& in) { in.toolchain.version = "g++ 13"; }},
      {"compiler identity", [](Inputs& in) { in.toolchain.identity = "other"; }},
      {"triplet", [](Inputs& in) { in.toolchain.triplet = "aarch64-linux-gnu"; }},
      {"flags", [](Inputs& in) { in.options.extra_flags = {"-O1"}; }},
      {"flags", [](Inputs& in) { in.options.standard_library = true; }},
      {"flags", [](Inputs& in) { in.target.flags.push_back("-mno-avx2"); }},
      {"target", [](Inputs& in) { in.target.march = "znver4"; }},
      {"features", [](Inputs& in) { in.target.features = {}; }},
      {"features", [](Inputs& in) { in.target.levels = {in.target}; }},
      {"mode", [](Inputs& in) { in.options.mode = "debug"; }},
      {"sanitize", [](Inputs& in) { in.options.sanitize = "undefined"; }},
      {"runtime headers", [](Inputs& in) { in.runtime = "rt 2"; }},
  };
  for (const auto& [name, change] : changes) {
    Inputs changed = base;
    change(changed);
    EXPECT_NE(changed.key(), base.key()) << name;
    bool named = false;
    for (const IngredientChange& difference : changes_between(base.list(), changed.list())) {
      named = named || difference.name == name;
    }
    EXPECT_TRUE(named) << name;
  }
}

TEST(Key, EachLevelCounts) {
  Inputs base;
  const Target low{"low", "low", {"-march=low"}, {"a"}}, high{"high", "high", {"-march=high"}, {"a", "b"}};
  base.target.levels = {low, high};
  for (const auto& change : std::vector<std::function<void(std::vector<Target>&)>>{
           [](std::vector<Target>& levels) { levels.pop_back(); },
           [](std::vector<Target>& levels) { levels[0].features.clear(); },
           [](std::vector<Target>& levels) { levels[1].features.push_back("c"); },
           [](std::vector<Target>& levels) { levels[1].name = "higher"; }}) {
    Inputs changed = base;
    change(changed.target.levels);
    EXPECT_NE(changed.key(), base.key());
  }
}

TEST(Key, FoldersAndLimitsDoNotChangeIt) {
  const Inputs base;
  Inputs changed = base;
  changed.options.include_dir = "/elsewhere";
  changed.options.work_folder = "/tmp/x";
  changed.options.time_limit_s = 1;
  EXPECT_EQ(changed.key(), base.key());
  EXPECT_TRUE(changes_between(base.list(), changed.list()).empty());
}

TEST(Key, ProgramLevel) {
  const std::string key = digest_of(program_ingredients("p", "s", "o", "c"));
  EXPECT_NE(digest_of(program_ingredients("p2", "s", "o", "c")), key);
  EXPECT_NE(digest_of(program_ingredients("p", "s2", "o", "c")), key);
  EXPECT_NE(digest_of(program_ingredients("p", "s", "o2", "c")), key);
  EXPECT_NE(digest_of(program_ingredients("p", "s", "o", "c2")), key);
  EXPECT_EQ(digest_of(program_ingredients("p", "s", "o", "c")), key);
}

TEST(Key, FieldsCannotRunTogether) {
  EXPECT_NE(digest_of({{"a", "bc"}}), digest_of({{"ab", "c"}}));
  EXPECT_NE(digest_of({{"a", "b"}, {"c", "d"}}), digest_of({{"a", "b1:c1:d"}}));
}

TEST(Key, LongValuesAreDigestsAndStillDiffer) {
  std::string value(10000, 'x');
  Ingredient first = ingredient("program", value);
  value[9999] = 'y';
  Ingredient second = ingredient("program", value);
  EXPECT_LE(first.value.size(), kIngredientLimit);
  EXPECT_NE(first.value, second.value);
}

TEST(Key, ChangesNameBothSides) {
  auto changes = changes_between({{"a", "1"}, {"gone", "2"}}, {{"a", "3"}, {"new", "4"}});
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].before + changes[0].after, "13");
  EXPECT_EQ(changes[1].name, "new");
  EXPECT_EQ(changes[2].name, "gone");
}

TEST(Sha256, KnownValues) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().update("a").update("bc").hex(), sha256_hex("abc"));
  EXPECT_TRUE(is_sha256_hex(sha256_hex("")));
  EXPECT_FALSE(is_sha256_hex("../../../etc/passwd"));
}

using HeaderTest = FolderTest;

TEST_F(HeaderTest, ContentDecidesAndFoldersDoNot) {
  for (const char* root : {"one", "two"}) {
    ASSERT_EQ(make_folders(path(root) + "/ferrule/rt"), 0);
    overwrite(path(root) + "/ferrule/abi.h", "abi");
    overwrite(path(root) + "/ferrule/rt/ops.h", "ops");
  }
  HeaderDigests headers;
  const std::string digest = headers.digest(path("one"));
  EXPECT_EQ(headers.digest(path("two")), digest);
  EXPECT_EQ(headers.digest(path("one")), digest);
  overwrite(path("one") + "/ferrule/rt/ops.h", "OPS");
  EXPECT_NE(headers.digest(path("one")), digest);
  overwrite(path("two") + "/ferrule/rt/new.h", "");
  EXPECT_NE(headers.digest(path("two")), digest);
  EXPECT_THROW(headers.digest(path("three")), Error);
}

}  // namespace
}  // namespace ferrule
