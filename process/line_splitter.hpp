// Cuts a stream of bytes into lines as they become whole. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace muster {

class line_splitter {
 public:
  using line_function = std::function<void(std::string_view line)>;

  /// `line` gets each line without its newline. One longer than `bytes_max` comes in pieces.
  explicit line_splitter(line_function line, std::size_t bytes_max = std::size_t{8} << 10)
      : line_(std::move(line)), bytes_max_(bytes_max) {}

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      auto const end = bytes.find('\n');
      auto const room = bytes_max_ - rest_.size();
      if (end != std::string_view::npos && end <= room) {
        emit(bytes.substr(0, end));
        bytes.remove_prefix(end + 1);
      } else if (bytes.size() > room) {
        emit(bytes.substr(0, room));
        bytes.remove_prefix(room);
      } else {
        rest_ += bytes;
        return;
      }
    }
  }
  /// No more comes: the last line may lack its newline.
  void end() {
    if (!rest_.empty()) emit({});
  }

 private:
  void emit(std::string_view text) {
    if (rest_.empty()) return line_(text);
    rest_ += text;
    line_(rest_);
    rest_.clear();
  }

  line_function line_;
  std::size_t bytes_max_;
  std::string rest_;
};

}  // namespace muster
