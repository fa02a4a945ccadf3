// Lines of C++ with indentation.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace ferrule {

class Text {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    raw(fmt::format(format, std::forward<Args>(args)...));
  }
  void raw(const std::string& text) {
    out_.append(size_t(depth_) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  // Opens with `head {`, closes with `}` and a tail.
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    raw(fmt::format(format, std::forward<Args>(args)...) + " {");
    ++depth_;
  }
  void close(const std::string& tail = "") {
    --depth_;
    raw("}" + tail);
  }
  void indent() { ++depth_; }
  void blank() { out_ += '\n'; }
  size_t size() const { return out_.size(); }
  // Puts braces around what was written since `from`, a size().
  void enclose(size_t from) {
    const std::string margin(size_t(depth_) * 2, ' ');
    out_.insert(from, margin + "{\n");
    out_ += margin + "}\n";
  }
  std::string take() { return std::move(out_); }
  void append(const std::string& text) { out_ += text; }

 private:
  std::string out_;
  int depth_ = 0;
};

}  // namespace ferrule
