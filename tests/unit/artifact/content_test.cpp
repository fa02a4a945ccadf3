// Listing, verifying, pruning and carrying what a store holds.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <functional>

#include "artifact/store_archive.h"
#include "artifact/store_content.h"
#include "testing.h"

namespace ferrule {
namespace {

class ContentTest : public FolderTest {
 protected:
  std::string root() const { return path("cache root"); }
  std::string entry(const Entry& entry) const { return entry_path(root(), entry.key); }

  // As if the last use of an entry were so long ago.
  void age(const Entry& made, int64_t seconds) const {
    const timespec time{std::time(nullptr) - seconds, 0};
    const timespec times[2] = {time, time};
    utimensat(AT_FDCWD, stamp_path(root(), made.key).c_str(), times, 0);
    ASSERT_EQ(utimensat(AT_FDCWD, entry(made).c_str(), times, 0), 0);
  }

  static std::vector<std::string> kinds(const Verification& verification) {
    std::vector<std::string> out;
    for (const Finding& finding : verification.findings) out.push_back(finding.kind);
    return out;
  }
};

TEST_F(ContentTest, EntriesAreListedByKeyWithNameAndSize) {
  Store store(root());
  EXPECT_TRUE(store.entries().empty());
  Entry a = made_up_entry("a"), b = made_up_entry("b", std::string(5000, 'b'));
  ASSERT_TRUE(store.publish(a));
  ASSERT_TRUE(store.publish(b));
  std::vector<StoredEntry> entries = store.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_LT(entries[0].key, entries[1].key);
  for (const StoredEntry& found : entries) {
    EXPECT_EQ(found.name, "made_up");
    EXPECT_EQ(found.problem, "");
    EXPECT_LE(std::abs(found.used_s - std::time(nullptr)), 60);
    EXPECT_GT(found.bytes, found.key == b.key ? 5000 : 0);
  }
  overwrite(entry(a) + "/manifest.json", "{}");
  remove_tree(entry(b) + "/manifest.json");
  for (const StoredEntry& found : store.entries()) EXPECT_NE(found.problem, "");
}

TEST_F(ContentTest, ASoundStoreHasNoFindings) {
  Store store(root());
  ASSERT_TRUE(store.publish(made_up_entry("a")));
  ASSERT_TRUE(store.write_warm(sha256_hex("w"), "{}"));
  store.lock(sha256_hex("l"));
  store.lookup(made_up_entry("a").key);
  Verification verification = store.verify();
  EXPECT_EQ(verification.entries, 1);
  EXPECT_EQ(verification.records, 1);
  EXPECT_TRUE(verification.findings.empty());
}

// Whatever lies below the root is in a manifest or one of the store's own, or it is found; repairing removes it where
// it lies among the entries, and no more.
TEST_F(ContentTest, VerifyFindsWhateverIsNotInAManifest) {
  struct Plant {
    const char* kind;
    bool repaired;
    std::function<void()> make;
  };
  Entry made = made_up_entry("a");
  const std::string v1 = root() + "/v1", shard = v1 + "/" + made.key.substr(0, 2), key = sha256_hex("other");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const Plant plants[] = {
      {"damaged", true, [&] { overwrite(entry(made) + "/module.so", "cut"); }},
      {"damaged", true, [&] { overwrite(entry(made) + "/notes.txt", ""); }},
      {"damaged", true, [&] { remove_tree(entry(made) + "/manifest.json"); }},
      {"damaged", true, [&] { ASSERT_EQ(mkdir((entry(made) + "/sub").c_str(), 0700), 0); }},
      {"damaged", true, [&] { ASSERT_EQ(chmod(entry(made).c_str(), 0777), 0); }},
      {"damaged", true, [&] { ASSERT_EQ(chmod((entry(made) + "/module.so").c_str(), 0666), 0); }},
      {"damaged", true, [&] { ASSERT_EQ(symlink("/nowhere", (shard + "/" + key.substr(2)).c_str()), 0); }},
      {"damaged", true, [&] { overwrite(shard + "/" + key.substr(2), "a file"); }},
      {"damaged", true, [&] { overwrite(warm_path(root(), key), "{}"); }},
      {"foreign", true, [&] { overwrite(v1 + "/warm/.x.json", "{}"); }},
      {"foreign", true, [&] { overwrite(shard + "/.cut", "x"); }},
      {"foreign", true, [&] { ASSERT_EQ(mkdir((shard + "/folder").c_str(), 0700), 0); }},
      {"foreign", true, [&] { overwrite(v1 + "/stamps/notes", ""); }},
      {"foreign", true, [&] { overwrite(v1 + "/locks/notes", ""); }},
      {"foreign", true, [&] { overwrite(stamp_path(root(), key), "not empty"); }},
      {"foreign", false, [&] { overwrite(v1 + "/notes", ""); }},
      {"foreign", false, [&] { ASSERT_EQ(mkdir((root() + "/thesis").c_str(), 0700), 0); }},
      {"rubbish", true, [&] { overwrite(v1 + "/tmp/" + host + "-999999999-0", ""); }},
  };
  for (const Plant& plant : plants) {
    remove_tree(root());
    Store store(root());
    ASSERT_TRUE(store.publish(made));
    plant.make();
    EXPECT_EQ(kinds(store.verify()), std::vector<std::string>{plant.kind});
    EXPECT_EQ(kinds(store.verify()), std::vector<std::string>{plant.kind}) << "looking changes nothing";
    Verification repaired = store.verify(true);
    ASSERT_EQ(repaired.findings.size(), 1u);
    EXPECT_EQ(repaired.findings[0].removed, plant.repaired) << repaired.findings[0].path;
    EXPECT_EQ(store.verify().findings.size(), plant.repaired ? 0u : 1u);
    EXPECT_TRUE(store.publish(made));
    EXPECT_TRUE(store.lookup(made.key));
  }
}

TEST_F(ContentTest, AnUntrustedRootIsNamedAndNotLookedInto) {
  ASSERT_TRUE(Store(root()).publish(made_up_entry("a")));
  ASSERT_EQ(chmod(root().c_str(), 0777), 0);
  Store store(root());
  EXPECT_TRUE(store.entries().empty());
  Verification verification = store.verify(true);
  EXPECT_EQ(kinds(verification), std::vector<std::string>{"untrusted"});
  EXPECT_EQ(verification.entries, 0);
  EXPECT_EQ(store.prune({.max_bytes = 0}).entries, 0);
  ASSERT_EQ(chmod(root().c_str(), 0700), 0);
  EXPECT_EQ(Store(root()).entries().size(), 1u);
}

TEST_F(ContentTest, PruneRemovesTheLongestUnusedFirst) {
  Store store(root());
  std::vector<Entry> made;
  for (const char* name : {"a", "b", "c", "d"}) {
    made.push_back(made_up_entry(name, std::string(10000, name[0])));
    ASSERT_TRUE(store.publish(made.back()));
  }
  age(made[2], 9 * 3600);
  age(made[0], 7 * 3600);
  age(made[1], 5 * 3600);
  age(made[3], 3 * 3600);
  int64_t total = 0;
  for (const StoredEntry& found : store.entries()) total += found.bytes;
  EXPECT_EQ(store.prune({.max_bytes = total}).entries, 0);
  Pruned pruned = store.prune({.max_bytes = total - 1});
  EXPECT_EQ(pruned.entries, 1);
  EXPECT_EQ(pruned.freed + pruned.left, total);
  EXPECT_FALSE(store.lookup(made[2].key));
  EXPECT_EQ(store.prune({.older_than_s = 6 * 3600}).entries, 1);
  EXPECT_FALSE(store.lookup(made[0].key));
  EXPECT_EQ(store.prune({.older_than_s = 3600, .keep = made[1].key}).entries, 1);
  EXPECT_TRUE(store.lookup(made[1].key));
  EXPECT_EQ(store.prune({.max_bytes = 0}).left, 0);
  EXPECT_TRUE(store.verify().findings.empty());
  EXPECT_TRUE(store.publish(made[0]));
}

TEST_F(ContentTest, PruneTakesWarmRecordsAndIdleLocksToo) {
  Store store(root(), {.lock_timeout_s = 0.05});
  ASSERT_TRUE(store.write_warm(sha256_hex("w"), "{}"));
  store.lock(sha256_hex("idle"));
  StoreLock held = store.lock(sha256_hex("held"));
  EXPECT_EQ(store.prune({.max_bytes = 0}).records, 1);
  EXPECT_FALSE(store.read_warm(sha256_hex("w")));
  EXPECT_EQ(names_in(root() + "/v1/locks"), std::vector<std::string>{sha256_hex("held") + ".lock"});
  EXPECT_FALSE(store.lock(sha256_hex("held")).held());
}

TEST_F(ContentTest, AReadOnlyStoreIsNeitherPrunedNorRepaired) {
  Entry made = made_up_entry("a");
  ASSERT_TRUE(Store(root()).publish(made));
  overwrite(entry(made) + "/module.so", "cut");
  Store store(root(), {.read_only = true});
  EXPECT_FALSE(store.verify(true).findings.at(0).removed);
  EXPECT_EQ(store.prune({.max_bytes = 0}).entries, 0);
  EXPECT_EQ(names_in(entry(made)).size(), 4u);
}

TEST_F(ContentTest, ArchivesCarryEntriesAndRecords) {
  Store from(root());
  Entry a = made_up_entry("a"), b = made_up_entry("b", std::string(300000, 'b'));
  ASSERT_TRUE(from.publish(a));
  ASSERT_TRUE(from.publish(b));
  ASSERT_TRUE(from.write_warm(sha256_hex("w"), "{\"entry\": 1}"));
  EXPECT_EQ(export_store(from, path("all")).entries, 2);
  EXPECT_EQ(export_store(from, path("one"), {b.key}).entries, 1);
  Store one(path("one store")), all(path("all store"));
  EXPECT_EQ(import_store(one, path("one")).records, 0);
  EXPECT_FALSE(one.lookup(a.key));
  EXPECT_EQ(one.lookup(b.key)->module, b.module);
  Archived imported = import_store(all, path("all"));
  EXPECT_EQ(imported.entries, 2);
  EXPECT_EQ(imported.records, 1);
  EXPECT_EQ(all.lookup(a.key)->manifest, a.manifest);
  EXPECT_EQ(all.read_warm(sha256_hex("w")), "{\"entry\": 1}");
  EXPECT_EQ(import_store(all, path("all")).entries, 2) << "what is there stays";
  EXPECT_TRUE(all.verify().findings.empty());
  EXPECT_EQ(names_in(folder_).size(), 5u) << "nothing temporary is left";
}

TEST_F(ContentTest, ADamagedArchiveChangesNothing) {
  Store from(root());
  ASSERT_TRUE(from.publish(made_up_entry("a")));
  ASSERT_TRUE(from.publish(made_up_entry("b")));
  export_store(from, path("all"));
  std::string good;
  ASSERT_EQ(read_file(path("all"), &good), 0);
  Store store(path("other"));
  for (size_t at = 0; at < good.size(); at += 7) {
    std::string changed = good;
    changed[at] ^= 1;
    overwrite(path("all"), changed);
    EXPECT_THROW(import_store(store, path("all")), Error) << at;
    overwrite(path("all"), good.substr(0, at));
    EXPECT_THROW(import_store(store, path("all")), Error) << at;
  }
  overwrite(path("all"), good.substr(0, good.size() - 1));
  EXPECT_THROW(import_store(store, path("all")), Error);
  overwrite(path("all"), good + "x");
  EXPECT_THROW(import_store(store, path("all")), Error);
  EXPECT_THROW(import_store(store, path("nowhere")), Error);
  EXPECT_TRUE(store.entries().empty());
  EXPECT_THROW(export_store(from, path("new"), {sha256_hex("none")}), Error);
  EXPECT_THROW(export_store(from, path("no folder/new")), Error);
  EXPECT_EQ(names_in(folder_).size(), 2u);
}

}  // namespace
}  // namespace ferrule
