#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../../modules/compile.h"
#include "base/error.h"
#include "call/invoke.h"
#include "load/module.h"

namespace ferrule {
namespace {

using test::compile_module;
using test::read_bytes;

bool is_mapped(const void* address) {
  std::ifstream maps("/proc/self/maps");
  uintptr_t low = 0, high = 0;
  char dash = 0;
  for (std::string rest; maps >> std::hex >> low >> dash >> high; std::getline(maps, rest))
    if (reinterpret_cast<uintptr_t>(address) - low < high - low) return true;
  return false;
}

TEST(Unload, TheLastReferenceEndsTheModule) {
  const std::string path = compile_module("add3.c");
  auto first = load_file(path), second = load_file(path);
  const void* descriptor = &first->descriptor();
  const std::string digest = first->digest();
  EXPECT_FALSE(unload_module(std::move(first)));
  EXPECT_EQ(first, nullptr);
  EXPECT_TRUE(is_mapped(descriptor));
  EXPECT_EQ(mapped_module(digest).get(), second.get());
  EXPECT_TRUE(unload_module(std::move(second)));
  EXPECT_FALSE(is_mapped(descriptor));
  EXPECT_EQ(mapped_module(digest), nullptr);
}

TEST(Unload, AReferenceThatIsOnlyDroppedEndsNothing) {
  const std::string path = compile_module("add3.c");
  const std::string digest = load_file(path)->digest();
  EXPECT_NE(mapped_module(digest), nullptr);
  EXPECT_TRUE(unload_module(mapped_module(digest)));
}

TEST(Unload, AHandleIsAUser) {
  const std::string path = compile_module("state.c");
  auto handle = std::make_unique<Handle>(load_file(path));
  const std::vector<CallArgument> none{int64_t{0}};
  invoke(*handle, none);
  EXPECT_FALSE(unload_module(load_file(path)));
  EXPECT_EQ(*static_cast<int64_t*>(invoke(*handle, none)[0].data), 2);
  auto module = handle->shared_module();
  handle.reset();
  EXPECT_TRUE(unload_module(std::move(module)));
}

TEST(Unload, ResultsAndErrorsOutliveTheModule) {
  const std::string path = compile_module("state.c");
  auto handle = std::make_unique<Handle>(load_file(path));
  const Results results = invoke(*handle, std::vector<CallArgument>{int64_t{41}});
  handle->finalize();
  std::string text;
  try {
    invoke(*handle, std::vector<CallArgument>{int64_t{-1}});
  } catch (const Error& error) {
    text = error.what();
  }
  auto module = handle->shared_module();
  handle.reset();
  EXPECT_TRUE(unload_module(std::move(module)));
  EXPECT_EQ(*static_cast<int64_t*>(results[0].data), 42);
  EXPECT_NE(text.find("next(): 'init' "), std::string::npos) << text;
}

TEST(Unload, AnAdoptedModuleIsRefused) {
  auto owned = load_file(compile_module("add3.c"));
  auto adopted = adopt_module(&owned->descriptor());
  try {
    unload_module(std::move(adopted));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.builtin(), Builtin::Runtime);
    EXPECT_NE(std::string(error.what()).find("'add3' cannot be unloaded"), std::string::npos) << error.what();
  }
  EXPECT_NE(adopted, nullptr);
}

TEST(Unload, ThreadsThatLoadAndUnloadOneDigest) {
  const std::string bytes = read_bytes(compile_module("state.c"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, ended{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        auto handle = std::make_unique<Handle>(load_module(bytes, "often"));
        wrong += *static_cast<int64_t*>(invoke(*handle, std::vector<CallArgument>{int64_t{i}})[0].data) != i + 1;
        auto module = handle->shared_module();
        handle.reset();
        ended += unload_module(std::move(module));
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(ended, 0);
  EXPECT_EQ(mapped_module("often"), nullptr);  // whoever came last has ended it
}

}  // namespace
}  // namespace ferrule
