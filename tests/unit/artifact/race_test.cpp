// Many processes on one key, and processes that are killed in the middle of publishing.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "testing.h"

namespace ferrule {
namespace {

using RaceTest = FolderTest;

// Runs `work` in a forked process that exits 0 iff it returns true.
pid_t start(const std::function<bool()>& work) {
  pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  return child;
}

bool ended_well(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(RaceTest, EightPublishersOneEntry) {
  for (int round = 0; round < 20; ++round) {
    const std::string root = path("cache " + std::to_string(round));
    const std::string source = "round " + std::to_string(round);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      children.push_back(start([&] {
        Store store(root);
        // Different valid bytes: a reader must never see the library of one with the manifest of another.
        Entry mine = made_up_entry(source, "module of " + std::to_string(i) + std::string(20000, 'x'));
        std::optional<Entry> published = store.publish(mine);
        std::optional<Entry> found = store.lookup(mine.key);
        return published && found && published->module == found->module && found->manifest == published->manifest;
      }));
    }
    for (pid_t child : children) EXPECT_TRUE(ended_well(child));
    EXPECT_TRUE(names_in(staging_root(root)).empty());
    EXPECT_TRUE(Store(root).lookup(made_up_entry(source).key));
  }
}

TEST_F(RaceTest, KilledWritersLeaveNothingBad) {
  const std::string root = path("cache");
  std::minstd_rand random(17);
  for (int round = 0; round < 40; ++round) {
    pid_t child = start([&]() -> bool {
      Store store(root);
      for (int i = 0;; ++i) {
        Entry entry =
            made_up_entry("kill " + std::to_string(round) + " " + std::to_string(i), std::string(200000, 'm'));
        store.publish(entry);
        store.write_warm(entry.key, "{\"round\": " + std::to_string(round) + "}");
      }
    });
    usleep(500 + random() % 20000);
    kill(child, SIGKILL);
    ended_well(child);
  }
  // Every entry in sight is whole, and every key can be used at once.
  int entries = 0;
  Store store(root);
  for (const std::string& shard : names_in(root + "/v1")) {
    if (shard.size() != 2) continue;
    for (const std::string& rest : names_in(root + "/v1/" + shard)) {
      EXPECT_TRUE(store.lookup(shard + rest)) << shard << rest;
      ++entries;
    }
  }
  EXPECT_GT(entries, 0);
  for (const std::string& name : names_in(root + "/v1/warm")) {
    EXPECT_TRUE(store.read_warm(name.substr(0, 64))) << name;
  }
  for (int round = 0; round < 40; ++round) {
    Entry entry = made_up_entry("kill " + std::to_string(round) + " 0", std::string(200000, 'm'));
    EXPECT_TRUE(store.publish(entry));
    EXPECT_TRUE(store.lookup(entry.key));
  }
}

TEST_F(RaceTest, ALockDiesWithItsHolder) {
  const std::string root = path("cache"), key = sha256_hex("key");
  Store store(root);
  {
    store.lock(key);
  }
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = start([&]() -> bool {
    StoreLock lock = Store(root).lock(key);
    char byte = lock.held() ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) return false;
    for (;;) pause();
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(Store(root, {.lock_timeout_s = 0.05}).lock(key).held());
  kill(child, SIGKILL);
  ended_well(child);
  EXPECT_TRUE(store.lock(key).held());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(RaceTest, AReaderNeverSeesAMixture) {
  const std::string root = path("cache");
  const Entry shape = made_up_entry("mixture");
  pid_t damager = start([&]() -> bool {
    Store store(root);
    for (int i = 0;; ++i) {
      Entry entry = made_up_entry("mixture", "module " + std::to_string(i) + std::string(50000, 'x'));
      store.publish(entry);
      usleep(300);
      remove_tree(entry_path(root, entry.key) + "/module.so");
    }
  });
  Store store(root);
  int found = 0;
  // The reader outlives many entries; the limit only ends a test that fails.
  for (int i = 0; i < 1000000 && found < 300; ++i) {
    std::optional<Entry> entry = store.lookup(shape.key);
    if (!entry) {
      usleep(20);
      continue;
    }
    ++found;
    EXPECT_TRUE(matches(parse_manifest(entry->manifest).modules.front().file, entry->module));
  }
  kill(damager, SIGKILL);
  ended_well(damager);
  EXPECT_EQ(found, 300);
}

// A cap of one entry while eight processes publish ten programs: what is found is whole, and the cap holds at the end.
TEST_F(RaceTest, EvictionUnderLoad) {
  const std::string root = path("cache");
  const std::string module(20000, 'm');
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(start([&] {
      Store store(root, {.max_bytes = 25000});
      for (int round = 0; round < 30; ++round) {
        Entry mine = made_up_entry(std::to_string((round + i) % 10), module);
        if (std::optional<Entry> found = store.lookup(mine.key); found && found->module != module) return false;
        store.publish(mine);
      }
      return store.take_warnings().empty();
    }));
  }
  for (pid_t child : children) EXPECT_TRUE(ended_well(child));
  Store store(root, {.max_bytes = 25000});
  ASSERT_TRUE(store.publish(made_up_entry("last", module)));
  EXPECT_EQ(store.entries().size(), 1u);
  EXPECT_TRUE(store.verify().findings.empty());
  EXPECT_TRUE(names_in(staging_root(root)).empty());
}

// Junk lies about and four processes write while the store is listed, verified, repaired and pruned.
TEST_F(RaceTest, ToolsWorkBesideWriters) {
  const std::string root = path("cache");
  Store store(root);
  ASSERT_TRUE(store.publish(made_up_entry("0")));
  const std::string shard = entry_path(root, made_up_entry("0").key).substr(0, (root + "/v1/00").size());
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(start([&] {
      Store mine(root);
      for (int round = 0; round < 60; ++round) {
        Entry entry = made_up_entry(std::to_string((round + i) % 20), std::string(5000, 'm'));
        if (std::optional<Entry> found = mine.publish(entry); found && found->key != entry.key) return false;
        if (!mine.write_warm(entry.key, "{}")) return false;
      }
      return mine.take_warnings().empty();
    }));
  }
  for (int round = 0; round < 30; ++round) {
    overwrite(shard + "/.cut" + std::to_string(round), "x");
    overwrite(root + "/v1/warm/half", "{");
    for (const StoredEntry& entry : store.entries()) store.lookup(entry.key);
    store.verify(round % 2 == 1);
    store.prune({.max_bytes = 40000});
  }
  for (pid_t child : children) EXPECT_TRUE(ended_well(child));
  store.verify(true);
  EXPECT_TRUE(store.verify().findings.empty());
  EXPECT_TRUE(store.take_warnings().empty());
}

TEST(SingleFlight, ThreadsShareOneRun) {
  SingleFlight<int> flights;
  std::atomic<int> runs = 0, sum = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      sum += flights.run("key", [&] {
        ++runs;
        // Long enough that all threads arrive; a late one would only make a second run, which the sum still allows.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        return 5;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 40);
  EXPECT_LT(runs, 8);
}

TEST(SingleFlight, AWaiterTakesOverFromOneThatWasInterrupted) {
  SingleFlight<int> flights;
  std::promise<void> begun, waited_for;
  std::thread interrupted([&] {
    EXPECT_THROW(flights.run("key",
                             [&]() -> int {
                               begun.set_value();
                               waited_for.get_future().wait();
                               throw Interrupted();
                             }),
                 Interrupted);
  });
  begun.get_future().wait();
  bool told = false;
  const auto tell = [&] {
    if (!std::exchange(told, true)) waited_for.set_value();
  };
  EXPECT_EQ(flights.run("key", [] { return 7; }, tell), 7);
  EXPECT_TRUE(told);
  interrupted.join();
}

TEST(SingleFlight, AWaiterMayGiveUp) {
  SingleFlight<int> flights;
  std::promise<void> begun, given_up;
  std::thread maker([&] {
    EXPECT_EQ(flights.run("key",
                          [&] {
                            begun.set_value();
                            given_up.get_future().wait();
                            return 5;
                          }),
              5);
  });
  begun.get_future().wait();
  EXPECT_THROW(flights.run("key", [] { return 7; }, [] { throw Interrupted(); }), Interrupted);
  given_up.set_value();
  maker.join();
}

TEST(SingleFlight, ErrorsReachEveryWaiterAndLeaveNothing) {
  SingleFlight<int> flights;
  std::atomic<int> errors = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      try {
        flights.run("key", [&]() -> int {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw user_error("No.");
        });
      } catch (const Error&) {
        ++errors;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 4);
  EXPECT_EQ(flights.run("key", [] { return 1; }), 1);
}

TEST(SingleFlight, AForkedChildDoesNotWaitForItsParentsThread) {
  SingleFlight<int> flights;
  int value = flights.run("key", [&] {
    pid_t child = start([&] { return flights.run("key", [] { return 2; }) == 2; });
    return ended_well(child) ? 1 : 0;
  });
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace ferrule
