#include "artifact/root_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "artifact/store_root.h"
#include "base/error.h"

namespace ferrule {
namespace {

// With a slash behind it a symbolic link would be followed unseen.
std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

RootChoice::RootChoice(std::string root, bool read_only, FileSystem& files)
    : root_(without_trailing_slashes(std::move(root))), read_only_(read_only), files_(files) {
  if (!root_.empty() && root_[0] != '/') {
    throw user_error(
        fmt::format("The cache folder '{}' is not an absolute path; give one that begins with '/'.", root_));
  }
  std::string reason = root_.empty() ? "none of FERRULE_CACHE_DIR, XDG_CACHE_HOME and HOME is an absolute path"
                                     : distrust_of(root_, read_only_, files_);
  root_trusted_ = reason.empty();
  if (!root_trusted_) fall_back(reason);
}

RootChoice::~RootChoice() {
  if (!private_root_.empty() && private_owner_ == getpid()) files_.remove_tree(private_root_);
}

std::string RootChoice::make_private_root() {
  std::string path;
  if (files_.make_private_folder(temporary_root(), "ferrule-cache-", &path) != 0) return "";
  private_root_ = path;
  private_owner_ = getpid();
  return make_layout(path, files_) == 0 ? path : "";
}

// Called with the mutex held, or from the constructor.
std::string RootChoice::fall_back(const std::string& reason) {
  decided_ = fell_back_ = true;
  write_root_ = read_only_ ? "" : make_private_root();
  const std::string folder =
      root_.empty() ? "No cache folder is known" : fmt::format("The cache folder '{}' is not used", root_);
  if (read_only_) {
    warnings_.push_back(fmt::format("The read-only cache folder '{}' is not used: {}.", root_, reason));
    return "";
  }
  const std::string instead = write_root_.empty()
                                  ? std::string("nothing is kept between calls")
                                  : fmt::format("a private folder '{}' serves this process", write_root_);
  warnings_.push_back(
      fmt::format("{}: {}; {}. Set FERRULE_CACHE_DIR to a folder of your own.", folder, reason, instead));
  return write_root_;
}

std::vector<std::string> RootChoice::readable() {
  std::lock_guard guard(mutex_);
  std::vector<std::string> roots;
  if (root_trusted_) roots.push_back(root_);
  if (!private_root_.empty()) roots.push_back(private_root_);
  return roots;
}

std::string RootChoice::writable() {
  if (read_only_) return "";
  std::lock_guard guard(mutex_);
  if (decided_) return write_root_;
  int error = make_layout(root_, files_);
  if (error != 0) return fall_back(errno_text(error));
  // Once more: somebody may have put another folder there meanwhile.
  if (std::string reason = distrust_of(root_, false, files_); !reason.empty()) {
    root_trusted_ = false;
    return fall_back(reason);
  }
  decided_ = true;
  write_root_ = root_;
  sweep_staging(root_, files_);
  return write_root_;
}

bool RootChoice::degrade(const std::string& root, int error) {
  std::lock_guard guard(mutex_);
  if (write_root_ != root) return !write_root_.empty();
  if (fell_back_) {
    write_root_.clear();
    return false;
  }
  return !fall_back(errno_text(error)).empty();
}

std::vector<std::string> RootChoice::take_warnings() {
  std::lock_guard guard(mutex_);
  return std::exchange(warnings_, {});
}

}  // namespace ferrule
