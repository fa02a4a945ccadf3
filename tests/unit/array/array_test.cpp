#include "array/array.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "array/file_map.h"
#include "array/item_type.h"
#include "array/view.h"
#include "base/error.h"

namespace ferrule {
namespace {

Array counted(std::vector<int64_t> shape) {
  Array array = make_array(DType::I64, std::move(shape));
  auto* first = static_cast<int64_t*>(array.data);
  std::iota(first, first + element_count(array), 0);
  return array;
}

std::vector<int64_t> values(const Array& array) {
  const Array dense = copy_of(array);
  const auto* first = static_cast<const int64_t*>(dense.data);
  return {first, first + element_count(dense)};
}

IndexPart slice(std::optional<int64_t> start, std::optional<int64_t> stop, std::optional<int64_t> step) {
  return {IndexPart::Kind::Slice, 0, start, stop, step};
}

TEST(Array, OwnMemoryIsAlignedAndDense) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {5}, {2, 3}, {0, 3}}) {
    const Array array = make_array(DType::F32, shape);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data) % 64, 0u);
    EXPECT_TRUE(is_dense(array));
  }
  EXPECT_THROW(make_array(DType::F64, {-1}), Error);
  EXPECT_THROW(make_array(DType::F64, {INT64_MAX}), Error);
  EXPECT_THROW(make_array(DType::F64, std::vector<int64_t>(65, 1)), Error);
}

TEST(Array, ViewsShareMemoryAndCopiesDoNot) {
  const Array array = counted({3, 4});
  const Array view = view_of(array, {slice({}, {}, -2), {IndexPart::Kind::Integer, -1}});
  EXPECT_EQ(values(view), (std::vector<int64_t>{11, 3}));
  EXPECT_EQ(view.memory, array.memory);
  EXPECT_NE(copy_of(view).memory, array.memory);
  EXPECT_EQ(values(transposed(array)), (std::vector<int64_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_FALSE(is_dense(transposed(array)));
  EXPECT_EQ(
      view_of(array, {{IndexPart::Kind::NewAxis}, {IndexPart::Kind::Ellipsis}, {IndexPart::Kind::Integer, 0}}).shape,
      (std::vector<int64_t>{1, 3}));
}

TEST(Array, SlicesClipAsPythonDoes) {
  const Array array = counted({5});
  const auto taken = [&](auto start, auto stop, auto step) {
    return values(view_of(array, {slice(start, stop, step)}));
  };
  constexpr std::nullopt_t none = std::nullopt;
  EXPECT_EQ(taken(-100, 100, 2), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(taken(3, 1, none), (std::vector<int64_t>{}));
  EXPECT_EQ(taken(100, -100, -3), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(taken(none, none, INT64_MIN), (std::vector<int64_t>{4}));
  EXPECT_EQ(taken(INT64_MIN, INT64_MAX, INT64_MAX), (std::vector<int64_t>{0}));
  EXPECT_THROW(taken(none, none, 0), Error);
  EXPECT_THROW(view_of(array, {{IndexPart::Kind::Integer, 5}}), Error);
  EXPECT_THROW(view_of(array, {{IndexPart::Kind::Integer, -6}}), Error);
}

TEST(ItemType, FormatsAndTypestringsOfEveryNumber) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::BF16) {
      EXPECT_EQ(format_of(dtype), nullptr);
      continue;
    }
    EXPECT_EQ(parse_format(format_of(dtype), item_size(dtype)).dtype, dtype);
    EXPECT_EQ(parse_typestr(typestr_of(dtype)).dtype, dtype);
    std::string turned = typestr_of(dtype);
    turned[0] = '>';
    EXPECT_EQ(parse_typestr(turned).foreign_order, item_size(dtype) > 1);
    EXPECT_EQ(parse_format((std::string(">") + format_of(dtype)).c_str(), item_size(dtype)).foreign_order,
              item_size(dtype) > 1);
    const bool of_the_platform = dtype == DType::I64 || dtype == DType::U64;
    for (const int64_t item : {1, 2, 4, 8, 16}) {
      const bool fills = item == item_size(dtype) || (of_the_platform && item == 4);
      EXPECT_EQ(parse_format(format_of(dtype), item).dtype.has_value(), fills) << format_of(dtype) << item;
    }
  }
  EXPECT_EQ(parse_format(nullptr, 1).dtype, DType::U8);
  for (const char* other : {"", "3d", "dd", "T{d:x:}", "P", "O", "g", "s", "c", "w", "&<d", "<", "Zg"})
    EXPECT_FALSE(parse_format(other, 8).dtype.has_value()) << other;
  for (const char* other : {"", "<", "<f", "f8", "<f16", "|V8", "<f8x", "<f99999999999999999999", "<M8", "|O8", "xf8"})
    EXPECT_FALSE(parse_typestr(other).dtype.has_value()) << other;
}

TEST(FileMap, WhatIsWrittenIsInTheFile) {
  const std::string path = testing::TempDir() + "ferrule_file_map_test";
  {
    Array made = map_file(path, DType::I32, {3}, 4, MapMode::Create);
    const int32_t numbers[] = {7, 8, 9};
    std::memcpy(made.data, numbers, sizeof numbers);
  }
  EXPECT_EQ(std::filesystem::file_size(path), 16u);
  const Array read = map_file(path, DType::I32, {4}, 0, MapMode::Read);
  EXPECT_FALSE(read.writable);
  EXPECT_EQ(static_cast<const int32_t*>(read.data)[3], 9);
  EXPECT_EQ(static_cast<const int32_t*>(read.data)[0], 0);
  EXPECT_THROW(map_file(path, DType::I32, {5}, 0, MapMode::Read), Error);
  EXPECT_THROW(map_file(path, DType::I32, {1}, -1, MapMode::Read), Error);
  EXPECT_EQ(map_file(path, DType::I32, {0}, 16, MapMode::Read).shape, std::vector<int64_t>{0});
  std::remove(path.c_str());
  EXPECT_THROW(map_file(path, DType::I32, {1}, 0, MapMode::Read), std::system_error);
}

}  // namespace
}  // namespace ferrule
