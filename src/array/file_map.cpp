#include "array/file_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace ferrule {
namespace {

std::system_error file_error(int code) { return std::system_error(code, std::generic_category()); }

class File {
 public:
  File(const std::string& path, MapMode mode) {
    const int flags = mode == MapMode::Write ? O_RDWR : mode == MapMode::Create ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY;
    descriptor_ = open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw file_error(errno);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }

  int64_t size() const {
    struct stat facts;
    if (fstat(descriptor_, &facts) != 0) throw file_error(errno);
    return facts.st_size;
  }

  // posix_fallocate, so that a full disk is an error here, not a signal at the first write.
  void grow(int64_t from, int64_t to) {
    const int code = posix_fallocate(descriptor_, from, to - from);
    if (code != 0) throw file_error(code);
  }

 private:
  int descriptor_;
};

}  // namespace

Array map_file(const std::string& path, DType dtype, std::vector<int64_t> shape, int64_t offset, MapMode mode) {
  if (offset < 0) throw user_error(fmt::format("The offset in '{}' is not negative, got {}.", path, offset));
  Array array = {nullptr, nullptr, dtype, std::move(shape), {}, mode != MapMode::Read};
  const int64_t bytes = dense_bytes(dtype, array.rank(), array.shape.data());
  int64_t end = 0;
  if (bytes < 0 || array.rank() > kMaxRank || __builtin_add_overflow(bytes, offset, &end))
    throw user_error(fmt::format("The shape of an array in '{}' does not fit into a file.", path));
  array.byte_strides = dense_strides(array.shape, dtype);
  File file(path, mode);
  const int64_t size = file.size();
  if (end > size) {
    if (mode == MapMode::Read || mode == MapMode::CopyOnWrite)
      throw user_error(fmt::format("'{}' has {} bytes, but the array ends at byte {}.", path, size, end));
    file.grow(size, end);
  }
  if (bytes == 0) {  // nothing to map
    array.data = nullptr;
    return array;
  }
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  const auto length = static_cast<size_t>(end - begin);
  const int protection = mode == MapMode::Read ? PROT_READ : PROT_READ | PROT_WRITE;
  const int sharing = mode == MapMode::CopyOnWrite ? MAP_PRIVATE : MAP_SHARED;
  void* mapped = mmap(nullptr, length, protection, sharing, file.descriptor(), begin);
  if (mapped == MAP_FAILED) throw file_error(errno);
  array.memory = std::shared_ptr<void>(mapped, [length](void* p) { munmap(p, length); });
  array.data = static_cast<char*>(mapped) + (offset - begin);
  return array;
}

}  // namespace ferrule
