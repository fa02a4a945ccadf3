#include "array/tensor.h"

#include <gtest/gtest.h>

#include <thread>

#include "array/view.h"
#include "base/error.h"

namespace ferrule {
namespace {

// A tensor of three doubles that counts what is done with it.
struct Counted {
  double values[3] = {1, 2, 3};
  int64_t shape[1] = {3}, strides[1] = {1};
  int deleted = 0;
  dlpack::ManagedVersioned managed{
      {1, 0},
      this,
      [](dlpack::ManagedVersioned* self) { ++static_cast<Counted*>(self->context)->deleted; },
      0,
      {values, {dlpack::kCpu, 0}, 1, {dlpack::kFloat, 64, 1}, shape, strides, 0}};
};

std::string refusal(dlpack::ManagedVersioned* tensor) {
  try {
    take_tensor(tensor);
  } catch (const Error& error) {
    EXPECT_EQ(error.builtin(), Builtin::Buffer);
    return error.what();
  }
  return "";
}

TEST(Tensor, IsGivenBackByTheLastCopy) {
  Counted counted;
  Array array = take_tensor(&counted.managed);
  EXPECT_EQ(array.data, counted.values);
  EXPECT_EQ(array.byte_strides, std::vector<int64_t>{8});
  EXPECT_TRUE(array.writable);
  Array view = view_of(array, {{IndexPart::Kind::Slice, 0, 1, std::nullopt, std::nullopt}});
  array = {};
  EXPECT_EQ(counted.deleted, 0);
  std::thread([view = std::move(view)]() mutable { view = {}; }).join();
  EXPECT_EQ(counted.deleted, 1);
}

TEST(Tensor, ThatIsRefusedIsGivenBackAtOnce) {
  const auto refused = [](auto change, const char* text) {
    Counted counted;
    change(counted.managed);
    EXPECT_NE(refusal(&counted.managed).find(text), std::string::npos) << refusal(&counted.managed);
    EXPECT_GE(counted.deleted, 1);
  };
  refused([](auto& m) { m.version.major = 2; }, "version 2.0");
  refused([](auto& m) { m.tensor.device.type = 2; }, "CUDA device 0");
  refused([](auto& m) { m.tensor.dtype = {dlpack::kFloat, 64, 2}; }, "code 2, bits 64, lanes 2");
  refused([](auto& m) { m.tensor.ndim = 65; }, "rank 65");
  refused([](auto& m) { m.tensor.ndim = -1; }, "rank -1");
  refused([](auto& m) { m.tensor.shape = nullptr; }, "no shape");
  refused([](auto& m) { m.tensor.data = nullptr; }, "no data");
  refused([](auto& m) { m.tensor.shape[0] = -1; }, "negative extent -1");
  refused([](auto& m) { m.tensor.shape[0] = INT64_MAX; }, "64 bits");
  refused([](auto& m) { m.tensor.strides[0] = INT64_MAX; }, "64 bits");
}

TEST(Tensor, NullDeleterIsNotCalled) {
  Counted counted;
  counted.managed.deleter = nullptr;
  take_tensor(&counted.managed);
  counted.managed.version.major = 9;
  EXPECT_NE(refusal(&counted.managed), "");
}

TEST(Tensor, OffsetAndStridesOfAxesThatMatter) {
  Counted counted;
  counted.managed.tensor.byte_offset = 8;
  counted.shape[0] = 2;
  EXPECT_EQ(take_tensor(&counted.managed).data, counted.values + 1);
  counted.shape[0] = 1;
  counted.strides[0] = INT64_MAX;
  EXPECT_EQ(take_tensor(&counted.managed).byte_strides, std::vector<int64_t>{8});
  counted.shape[0] = 0;
  counted.managed.tensor.data = nullptr;
  EXPECT_EQ(take_tensor(&counted.managed).data, nullptr);
}

TEST(Tensor, UnversionedIsReadOnly) {
  Counted counted;
  dlpack::Managed managed{counted.managed.tensor, nullptr, nullptr};
  EXPECT_FALSE(take_tensor(&managed).writable);
  counted.managed.flags = dlpack::kReadOnly;
  EXPECT_FALSE(take_tensor(&counted.managed).writable);
}

TEST(Tensor, EveryNumberHasOneElementType) {
  for (int i = 0; i <= static_cast<int>(DType::F8E5M2); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_of(data_type_of(dtype)), dtype);
    EXPECT_EQ(data_type_of(dtype).bits, 8 * item_size(dtype));
  }
  EXPECT_THROW(data_type_of(DType::Object), Error);
}

TEST(Tensor, LoansKeepTheMemory) {
  Array array = make_array(DType::I32, {2, 3});
  const std::weak_ptr<void> memory = array.memory;
  dlpack::ManagedVersioned* lent = lend_versioned_tensor(view_of(array, {{IndexPart::Kind::Integer, 1}}), true);
  dlpack::Managed* old = lend_tensor(array);
  EXPECT_EQ(lent->tensor.data, static_cast<int32_t*>(array.data) + 3);
  EXPECT_EQ(lent->tensor.byte_offset, 0u);
  EXPECT_EQ(lent->tensor.strides[0], 1);
  EXPECT_EQ(lent->flags, dlpack::kIsCopied);
  EXPECT_EQ(old->tensor.strides[0], 3);
  array = {};
  lent->deleter(lent);
  EXPECT_FALSE(memory.expired());
  old->deleter(old);
  EXPECT_TRUE(memory.expired());
}

TEST(Tensor, CannotExpressEveryStride) {
  Array array = make_array(DType::F64, {2});
  array.byte_strides = {9};
  EXPECT_THROW(lend_tensor(array), Error);
  array.shape = {1};
  dlpack::Managed* lent = lend_tensor(array);
  lent->deleter(lent);
}

}  // namespace
}  // namespace ferrule
