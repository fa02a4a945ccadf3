// The store: publishing, verification, damage, and a disk that does not work.
#include "artifact/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "testing.h"

namespace ferrule {
namespace {

class StoreTest : public FolderTest {
 protected:
  std::string root() const { return path("cache root"); }
  std::string entry(const Entry& entry) const { return entry_path(root(), entry.key); }
};

TEST_F(StoreTest, NothingIsWrittenBeforeItMustBe) {
  Store store(root());
  EXPECT_FALSE(store.lookup(sha256_hex("x")));
  EXPECT_FALSE(store.read_warm(sha256_hex("x")));
  EXPECT_TRUE(names_in(folder_).empty());
}

TEST_F(StoreTest, PublishesAndFinds) {
  Entry made = made_up_entry("a");
  ASSERT_TRUE(Store(root()).publish(made));
  Store store(root());
  std::optional<Entry> found = store.lookup(made.key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->manifest, made.manifest);
  EXPECT_EQ(found->module, made.module);
  EXPECT_EQ(found->source, made.source);
  EXPECT_EQ(found->log, made.log);
  EXPECT_EQ(found->local, made.local);
  EXPECT_EQ(names_in(entry(made)), (std::vector<std::string>{"log.txt", "manifest.json", "module.so", "source.cpp"}));
  EXPECT_TRUE(names_in(staging_root(root())).empty());
  struct stat info;
  ASSERT_EQ(stat(root().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(store.take_warnings().empty());
}

TEST_F(StoreTest, TheFirstPublisherWins) {
  Entry first = made_up_entry("a", "one"), second = made_up_entry("a", "two");
  ASSERT_EQ(first.key, second.key);
  Store store(root());
  EXPECT_EQ(store.publish(first)->module, "one");
  EXPECT_EQ(store.publish(second)->module, "one");
  EXPECT_EQ(store.lookup(first.key)->module, "one");
  EXPECT_TRUE(names_in(staging_root(root())).empty());
}

// Any damage is a miss that the next publication mends.
TEST_F(StoreTest, DamageIsAMiss) {
  Entry made = made_up_entry("int a_source;", std::string(5000, 'm'));
  Store store(root());
  const std::map<std::string, std::string> files = files_of(made);
  for (const auto& [name, content] : files) {
    std::vector<std::string> damaged = {"", content.substr(0, 1), content.substr(0, content.size() / 2),
                                        content.substr(0, content.size() - 1), content + "x"};
    for (size_t at = 0; at < content.size(); at += std::max<size_t>(1, content.size() / 40)) {
      damaged.push_back(content);
      damaged.back()[at] ^= 1;
    }
    for (const std::string& text : damaged) {
      ASSERT_TRUE(store.publish(made));
      overwrite(entry(made) + "/" + name, text);
      EXPECT_FALSE(store.lookup(made.key)) << name << " " << text.size();
    }
  }
  EXPECT_TRUE(store.publish(made));
  EXPECT_TRUE(store.lookup(made.key));
}

TEST_F(StoreTest, EveryByteOfAManifestCounts) {
  Entry made = made_up_entry("a");
  const std::map<std::string, std::string> files = files_of(made);
  const std::string manifest = files.at(kManifestFile);
  Entry read;
  ASSERT_EQ(read_entry(made.key, files, &read), "");
  for (size_t at = 0; at < manifest.size(); ++at) {
    std::map<std::string, std::string> changed = files;
    changed[kManifestFile][at] ^= 4;
    EXPECT_NE(read_entry(made.key, changed, &read), "") << at << " " << manifest.substr(at, 10);
  }
}

TEST_F(StoreTest, WhatIsNotItsOwnIsRefused) {
  Entry made = made_up_entry("a"), other = made_up_entry("b");
  Store store(root());
  const std::pair<const char*, std::function<void()>> plants[] = {
      {"an extra file", [&] { overwrite(entry(made) + "/notes.txt", ""); }},
      {"a missing file", [&] { remove_tree(entry(made) + "/source.cpp"); }},
      {"a missing manifest", [&] { remove_tree(entry(made) + "/manifest.json"); }},
      {"a folder", [&] { ASSERT_EQ(mkdir((entry(made) + "/sub").c_str(), 0700), 0); }},
      {"a link for a file",
       [&] {
         overwrite(path("elsewhere"), made.module);
         remove_tree(entry(made) + "/module.so");
         ASSERT_EQ(symlink(path("elsewhere").c_str(), (entry(made) + "/module.so").c_str()), 0);
       }},
      {"a pipe for a file",
       [&] {
         remove_tree(entry(made) + "/module.so");
         ASSERT_EQ(mkfifo((entry(made) + "/module.so").c_str(), 0600), 0);
       }},
      {"another key's entry",
       [&] {
         ASSERT_TRUE(store.publish(other));
         remove_tree(entry(made));
         ASSERT_EQ(rename(entry(other).c_str(), entry(made).c_str()), 0);
       }},
      {"a link for the entry",
       [&] {
         ASSERT_EQ(rename(entry(made).c_str(), path("moved").c_str()), 0);
         ASSERT_EQ(symlink(path("moved").c_str(), entry(made).c_str()), 0);
       }},
      {"a file for the entry",
       [&] {
         remove_tree(entry(made));
         overwrite(entry(made), "junk");
       }},
      {"an empty entry",
       [&] {
         remove_tree(entry(made));
         ASSERT_EQ(mkdir(entry(made).c_str(), 0700), 0);
       }},
  };
  for (const auto& [what, plant] : plants) {
    ASSERT_TRUE(store.publish(made)) << what;
    plant();
    EXPECT_FALSE(store.lookup(made.key)) << what;
    EXPECT_TRUE(store.publish(made)) << what;
    EXPECT_TRUE(store.lookup(made.key)) << what;
  }
}

// Where nobody looked before: the publisher itself meets the damaged entry.
TEST_F(StoreTest, PublishingMendsADamagedEntry) {
  Entry made = made_up_entry("a");
  Store store(root());
  ASSERT_TRUE(store.publish(made));
  overwrite(entry(made) + "/module.so", "cut");
  ASSERT_TRUE(store.publish(made));
  EXPECT_EQ(store.lookup(made.key)->module, made.module);
}

TEST_F(StoreTest, TransientErrorsAreRetriedAndMoveNothingAside) {
  Entry made = made_up_entry("a");
  FailingFiles files;
  Store store(root(), {.files = &files});
  files.errors["rename"] = {ESTALE, 2};
  files.errors["make_folder"] = {EBUSY, 0};
  EXPECT_TRUE(store.publish(made));
  files.errors["read_folder"] = {ESTALE, 3};
  EXPECT_TRUE(store.lookup(made.key));
  for (int error : {EIO, ESTALE, EMFILE, EACCES}) {
    files.errors["read_folder"] = {error};
    EXPECT_FALSE(store.lookup(made.key));
  }
  files.errors.clear();
  EXPECT_TRUE(store.lookup(made.key)) << "an I/O error must not cost the entry";
  EXPECT_TRUE(store.take_warnings().empty());
}

TEST_F(StoreTest, AFailedRenameLeavesTheEntryWithTheCaller) {
  Entry made = made_up_entry("a");
  FailingFiles files;
  Store store(root(), {.files = &files});
  for (int error : {ESTALE, ENOENT}) {
    files.errors["rename"] = {error};
    EXPECT_FALSE(store.publish(made));
    EXPECT_TRUE(store.take_warnings().empty());
    EXPECT_TRUE(names_in(staging_root(root())).empty());
  }
}

TEST_F(StoreTest, AWinnerThatCannotBeSeenLeavesTheEntryWithTheCaller) {
  Entry made = made_up_entry("a");
  FailingFiles files;
  Store store(root(), {.files = &files});
  ASSERT_TRUE(store.publish(made));
  files.errors["read_folder"] = {ENOENT};
  EXPECT_FALSE(store.publish(made));
  EXPECT_TRUE(names_in(staging_root(root())).empty());
}

// Every function that writes, every error of a disk that takes nothing: a private place, and one warning.
TEST_F(StoreTest, ADiskThatTakesNothingIsReplaced) {
  for (const char* function : {"make_folder", "make_folders", "write_new_file", "rename"}) {
    for (int error : {ENOSPC, EROFS, EACCES, EDQUOT, EXDEV, EIO}) {
      remove_tree(root());
      FailingFiles files;
      files.errors[function] = {error};
      files.only_below = root();
      Store store(root(), {.files = &files});
      Entry made = made_up_entry("a"), other = made_up_entry("b");
      EXPECT_TRUE(store.publish(made)) << function << error;
      EXPECT_TRUE(store.publish(other));
      EXPECT_TRUE(store.lookup(made.key));
      EXPECT_TRUE(store.write_warm(made.key, "{}"));
      EXPECT_EQ(store.read_warm(made.key), "{}");
      std::vector<std::string> warnings = store.take_warnings();
      ASSERT_EQ(warnings.size(), 1u) << function << error;
      EXPECT_NE(warnings[0].find(root()), std::string::npos);
      EXPECT_NE(warnings[0].find(errno_text(error)), std::string::npos) << warnings[0];
      EXPECT_TRUE(store.take_warnings().empty());
    }
  }
}

TEST_F(StoreTest, NoPlaceAtAllStillFailsNothing) {
  for (const char* function : {"make_folder", "write_new_file", "rename", "make_private_folder"}) {
    FailingFiles files;
    files.errors[function] = {ENOSPC};
    files.errors["make_private_folder"] = {ENOSPC};
    remove_tree(root());
    Store store(root(), {.files = &files});
    Entry made = made_up_entry("a");
    store.publish(made);
    store.write_warm(made.key, "{}");
    store.lock(made.key);
    EXPECT_LE(store.take_warnings().size(), 1u);
  }
}

TEST_F(StoreTest, ThePrivatePlaceGoesWithTheStore) {
  FailingFiles files;
  files.errors["make_folders"] = {EROFS};
  files.only_below = root();
  std::string folder;
  {
    Store store(root(), {.files = &files});
    ASSERT_TRUE(store.publish(made_up_entry("a")));
    folder = store.work_folder();
    EXPECT_FALSE(names_in(folder.substr(0, folder.size() - 4)).empty());
  }
  FileStatus status;
  EXPECT_EQ(FileSystem().status(folder, &status), ENOENT);
}

TEST_F(StoreTest, UntrustedRootsAreRefused) {
  const std::pair<const char*, std::function<void()>> plants[] = {
      {"others can write", [&] { chmod(root().c_str(), 0777); }},
      {"others can write", [&] { chmod(root().c_str(), 0720); }},
      {"symbolic link",
       [&] {
         rename(root().c_str(), path("real").c_str());
         ASSERT_EQ(symlink(path("real").c_str(), root().c_str()), 0);
       }},
      {"not a folder",
       [&] {
         remove_tree(root());
         overwrite(root(), "");
       }},
  };
  Entry made = made_up_entry("a");
  for (const auto& [reason, plant] : plants) {
    remove_tree(root());
    ASSERT_TRUE(Store(root()).publish(made));
    plant();
    Store store(root() + "/");
    EXPECT_FALSE(store.lookup(made.key)) << reason;
    EXPECT_TRUE(store.publish(made)) << reason;
    EXPECT_TRUE(store.lookup(made.key)) << reason;
    std::vector<std::string> warnings = store.take_warnings();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(reason), std::string::npos) << warnings[0];
  }
}

TEST_F(StoreTest, ForeignOwnersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(make_folders(path("a/root")), 0);
  ASSERT_EQ(chown(path("a/root").c_str(), 4242, 4242), 0);
  FileSystem files;
  EXPECT_EQ(distrust_of(path("a/root"), false, files), "it belongs to another user");
  EXPECT_EQ(distrust_of(path("a/root"), true, files), "it belongs to another user");
  ASSERT_EQ(symlink(path("a").c_str(), path("link").c_str()), 0);
  EXPECT_EQ(distrust_of(path("link/new"), false, files), "");
  ASSERT_EQ(lchown(path("link").c_str(), 4242, 4242), 0);
  EXPECT_NE(distrust_of(path("link/new"), false, files).find("link of another user"), std::string::npos);
}

TEST_F(StoreTest, TheDefaultRootFollowsTheEnvironment) {
  const char* names[] = {"FERRULE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::map<std::string, std::string> before;
  for (const char* name : names) {
    if (const char* value = getenv(name)) before[name] = value;
  }
  setenv("FERRULE_CACHE_DIR", "/f", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(default_store_root(), "/f");
  setenv("FERRULE_CACHE_DIR", "relative", 1);
  EXPECT_THROW(Store{default_store_root()}, Error);
  unsetenv("FERRULE_CACHE_DIR");
  EXPECT_EQ(default_store_root(), "/x/ferrule");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_store_root(), "/h/.cache/ferrule");
  unsetenv("HOME");
  const std::string from_database = default_store_root();
  EXPECT_TRUE(from_database.empty() || from_database[0] == '/');
  for (const char* name : names) {
    unsetenv(name);
    if (before.contains(name)) setenv(name, before[name].c_str(), 1);
  }
  Store none("");
  Entry made = made_up_entry("a");
  EXPECT_TRUE(none.publish(made));
  EXPECT_TRUE(none.lookup(made.key));
  EXPECT_EQ(none.take_warnings().size(), 1u);
}

TEST_F(StoreTest, LevelsAreSearchedAndNeverWritten) {
  Entry made = made_up_entry("a"), damaged = made_up_entry("b");
  {
    Store site(path("site"));
    ASSERT_TRUE(site.publish(made));
    ASSERT_TRUE(site.publish(damaged));
    site.write_warm(made.key, "{}");
  }
  overwrite(entry_path(path("site"), damaged.key) + "/module.so", "cut");
  auto site = std::make_shared<Store>(path("site"), StoreOptions{.read_only = true});
  Store store(root(), {.levels = {site}});
  EXPECT_TRUE(store.lookup(made.key));
  EXPECT_FALSE(store.lookup_here(made.key));
  EXPECT_EQ(store.read_warm(made.key), "{}");
  EXPECT_FALSE(store.lookup(damaged.key));
  EXPECT_EQ(names_in(entry_path(path("site"), damaged.key)).size(), 4u) << "a read-only store was changed";
  EXPECT_FALSE(site->publish(made_up_entry("c")));
  EXPECT_FALSE(site->write_warm(made.key, "{}"));
}

TEST_F(StoreTest, WarmRecordsAreReplacedAndVerified) {
  const std::string key = sha256_hex("record");
  Store store(root());
  EXPECT_TRUE(store.write_warm(key, "{\"a\": 1}"));
  EXPECT_EQ(store.read_warm(key), "{\"a\": 1}");
  EXPECT_TRUE(store.write_warm(key, "{\"a\": 2}"));
  EXPECT_EQ(Store(root()).read_warm(key), "{\"a\": 2}");
  std::string text;
  ASSERT_EQ(read_file(warm_path(root(), key), &text), 0);
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] ^= 1;
    overwrite(warm_path(root(), key), changed);
    EXPECT_FALSE(store.read_warm(key)) << at;
    overwrite(warm_path(root(), key), text.substr(0, at));
    EXPECT_FALSE(store.read_warm(key)) << at;
  }
  EXPECT_TRUE(store.write_warm(key, "{}"));
  EXPECT_EQ(store.read_warm(key), "{}");
  EXPECT_THROW(store.read_warm("../x"), Error);
  EXPECT_TRUE(names_in(staging_root(root())).empty());
}

TEST_F(StoreTest, LocksExcludeAndGiveUp) {
  const std::string key = sha256_hex("key");
  Store store(root(), {.lock_timeout_s = 0.05});
  {
    StoreLock first = store.lock(key);
    EXPECT_TRUE(first.held());
    EXPECT_FALSE(store.lock(key).held()) << "after the time limit";
    EXPECT_TRUE(store.lock(sha256_hex("other")).held());
  }
  EXPECT_TRUE(store.lock(key).held());
  FailingFiles files;
  files.errors["try_lock"] = {ENOSYS};
  EXPECT_FALSE(Store(root(), {.files = &files}).lock(key).held());
}

// An attempt that shall not wait never returns: the next one does not even try.
TEST_F(StoreTest, ALockThatNeverAnswersIsGivenUp) {
  class BlockingLocks : public FileSystem {
   public:
    int try_lock(const std::string&, UniqueFd*) override {
      ++attempts;
      std::unique_lock guard(mutex);
      changed.wait(guard, [&] { return released; });
      ++returned;
      changed.notify_all();
      return EWOULDBLOCK;
    }
    std::atomic<int> attempts = 0;
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false;
    int returned = 0;
  };
  static BlockingLocks& files = *new BlockingLocks;  // a thread that was given up may still use it
  Store store(root(), {.lock_answer_s = 0.05, .files = &files});
  EXPECT_FALSE(store.lock(sha256_hex("a")).held());
  EXPECT_FALSE(store.lock(sha256_hex("b")).held());
  EXPECT_TRUE(store.publish(made_up_entry("a")));
  EXPECT_EQ(files.attempts, 1);
  EXPECT_TRUE(store.take_warnings().empty());
  std::unique_lock guard(files.mutex);
  files.released = true;
  files.changed.notify_all();
  files.changed.wait(guard, [&] { return files.returned == 1; });
}

// Where the answer comes too late, the lock is let go again.
TEST_F(StoreTest, ALateLockIsNotKept) {
  class LateLocks : public FileSystem {
   public:
    int try_lock(const std::string& path, UniqueFd* lock) override {
      {
        std::unique_lock guard(mutex);
        changed.wait(guard, [&] { return released; });
      }
      return FileSystem::try_lock(path, lock);
    }
    void unlock(UniqueFd* lock) override {
      const bool held = static_cast<bool>(*lock);
      FileSystem::unlock(lock);
      std::lock_guard guard(mutex);
      unlocked = unlocked || held;
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    bool released = false, unlocked = false;
  };
  static LateLocks& files = *new LateLocks;
  const std::string key = sha256_hex("a");
  Store store(root(), {.lock_answer_s = 0.05, .files = &files});
  EXPECT_FALSE(store.lock(key).held());
  std::unique_lock guard(files.mutex);
  files.released = true;
  files.changed.notify_all();
  files.changed.wait(guard, [&] { return files.unlocked; });
  EXPECT_TRUE(Store(root()).lock(key).held());
}

TEST_F(StoreTest, ASlowRenameCostsOnlyTime) {
  class SlowRenames : public FileSystem {
   public:
    int rename(const std::string& from, const std::string& to) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return FileSystem::rename(from, to);
    }
  };
  SlowRenames files;
  Store slow(root(), {.files = &files}), quick(root());
  std::thread publisher([&] { EXPECT_EQ(slow.publish(made_up_entry("a", "one"))->module.size(), 3u); });
  EXPECT_TRUE(quick.publish(made_up_entry("a", "two")));
  publisher.join();
  EXPECT_EQ(slow.lookup(made_up_entry("a").key)->module, quick.lookup(made_up_entry("a").key)->module);
  EXPECT_TRUE(slow.verify().findings.empty());
  EXPECT_TRUE(names_in(staging_root(root())).empty());
}

// Reads and writes are counted: whoever finds an entry leaves everything as it is.
TEST_F(StoreTest, AHitWritesNothingWithinAnHour) {
  class CountedWrites : public FileSystem {
   public:
    int make_folder(const std::string& path) override { return ++writes, FileSystem::make_folder(path); }
    int make_folders(const std::string& path) override { return ++writes, FileSystem::make_folders(path); }
    int write_new_file(const std::string& path, std::string_view content) override {
      return ++writes, FileSystem::write_new_file(path, content);
    }
    int rename(const std::string& from, const std::string& to) override {
      return ++writes, FileSystem::rename(from, to);
    }
    int remove_tree(const std::string& path) override { return ++writes, FileSystem::remove_tree(path); }
    int try_lock(const std::string& path, UniqueFd* lock) override {
      return ++writes, FileSystem::try_lock(path, lock);
    }
    int touch(const std::string& path) override { return ++writes, ++touches, FileSystem::touch(path); }
    int writes = 0, touches = 0;
  };
  Entry made = made_up_entry("a");
  const std::string key = sha256_hex("record");
  ASSERT_TRUE(Store(root()).publish(made));
  ASSERT_TRUE(Store(root()).write_warm(key, "{}"));
  CountedWrites files;
  Store store(root(), {.files = &files});
  EXPECT_TRUE(store.lookup(made.key));
  EXPECT_TRUE(store.read_warm(key));
  EXPECT_EQ(files.writes, 0);
  const timespec times[2] = {{time(nullptr) - 4000, 0}, {time(nullptr) - 4000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, stamp_path(root(), made.key).c_str(), times, 0), 0);
  ASSERT_EQ(utimensat(AT_FDCWD, warm_path(root(), key).c_str(), times, 0), 0);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(store.lookup(made.key));
    EXPECT_TRUE(store.read_warm(key));
  }
  EXPECT_EQ(files.writes, 2);
  EXPECT_EQ(files.touches, 2) << "the stamp and the record, once";
}

TEST_F(StoreTest, WhatOthersWroteIsNotRead) {
  Entry made = made_up_entry("a");
  const std::string key = sha256_hex("record");
  const std::string folder = entry(made);
  std::vector<std::function<void()>> plants = {
      [&] { ASSERT_EQ(chmod(folder.c_str(), 0777), 0); },
      [&] { ASSERT_EQ(chmod((folder + "/module.so").c_str(), 0620), 0); },
  };
  if (geteuid() == 0) {
    plants.push_back([&] { ASSERT_EQ(chown(folder.c_str(), 4242, 4242), 0); });
    plants.push_back([&] { ASSERT_EQ(chown((folder + "/manifest.json").c_str(), 4242, 4242), 0); });
  }
  Store store(root());
  for (const auto& plant : plants) {
    ASSERT_TRUE(store.publish(made));
    plant();
    EXPECT_FALSE(store.lookup(made.key));
  }
  ASSERT_TRUE(store.write_warm(key, "{}"));
  ASSERT_EQ(chmod(warm_path(root(), key).c_str(), 0666), 0);
  EXPECT_FALSE(store.read_warm(key));
  ASSERT_EQ(chmod((root() + "/v1").c_str(), 0777), 0);
  Store later(root());
  EXPECT_NE(later.take_warnings().at(0).find("or could"), std::string::npos);
  EXPECT_TRUE(later.publish(made)) << "in a private place";
  EXPECT_FALSE(names_in(root() + "/v1/" + made.key.substr(0, 2)).size() > 1);
}

TEST_F(StoreTest, TheCapHoldsAndSparesTheNewest) {
  const std::string module(30000, 'm');
  Entry first = made_up_entry("0", module);
  {
    Store(root()).publish(first);
  }
  const int64_t one = Store(root()).entries().at(0).bytes;
  Store store(root(), {.max_bytes = 3 * one + 1000});
  for (int i = 0; i < 10; ++i) {
    Entry made = made_up_entry(std::to_string(i), module);
    ASSERT_TRUE(store.publish(made));
    EXPECT_TRUE(store.lookup(made.key));
    int64_t total = 0;
    for (const StoredEntry& entry : store.entries()) total += entry.bytes;
    EXPECT_LE(total, 3 * one + 1000);
  }
  EXPECT_EQ(store.entries().size(), 3u);
  Store none(root(), {.max_bytes = 0});
  Entry made = made_up_entry("x", module);
  ASSERT_TRUE(none.publish(made));
  EXPECT_TRUE(none.lookup(made.key)) << "what was just made stays, or it would be made for ever";
  EXPECT_EQ(none.entries().size(), 1u);
  EXPECT_TRUE(none.verify().findings.empty());
}

TEST_F(StoreTest, AWaiterGoesOnAsSoonAsTheEntryIsThere) {
  Entry made = made_up_entry("a");
  Store store(root());
  StoreLock held = store.lock(made.key);
  std::thread waiter([&] { EXPECT_FALSE(store.lock(made.key).held()); });
  EXPECT_TRUE(store.publish(made));
  waiter.join();
}

TEST_F(StoreTest, OldStagingIsSweptAndNewIsNot) {
  {
    Store(root()).publish(made_up_entry("a"));
  }
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string tmp = staging_root(root());
  const std::string dead = tmp + "/" + host + "-999999999-0",
                    mine = tmp + "/" + host + "-" + std::to_string(getpid()) + "-0";
  const std::string foreign = tmp + "/otherhost-1-0", kept = tmp + "/failed-0123456789abcdef";
  auto age = [](const std::string& path, int64_t seconds) {
    timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  };
  for (const std::string& folder : {dead, mine, foreign, kept}) {
    ASSERT_EQ(make_folders(folder), 0);
    overwrite(folder + "/source.cpp", "");
  }
  for (const std::string& folder : {dead, mine, foreign, kept}) age(folder, 3600);
  {
    Store(root()).publish(made_up_entry("b"));
  }
  EXPECT_EQ(names_in(tmp).size(), 3u) << "only that of the dead process goes after an hour";
  for (const std::string& folder : {mine, foreign, kept}) age(folder, 2 * 24 * 3600);
  {
    Store(root()).publish(made_up_entry("c"));
  }
  EXPECT_EQ(names_in(tmp), (std::vector<std::string>{"failed-0123456789abcdef"}));
}

TEST_F(StoreTest, ARootThatVanishesIsMadeAgain) {
  Store store(root());
  ASSERT_TRUE(store.publish(made_up_entry("a")));
  remove_tree(root());
  EXPECT_TRUE(store.publish(made_up_entry("b")));
  remove_tree(root());
  EXPECT_TRUE(store.write_warm(sha256_hex("x"), "{}"));
  remove_tree(root());
  EXPECT_FALSE(store.work_folder().empty());
  EXPECT_EQ(names_in(store.work_folder()).size(), 0u);
  EXPECT_TRUE(store.take_warnings().empty());
}

}  // namespace
}  // namespace ferrule
