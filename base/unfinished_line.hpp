// Lines on a terminal of which the last one may not have ended, as a progress bar has not.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Makes the bytes that show lines of several sources on one terminal. The next line of the same
/// source replaces its unfinished line. A line of another source begins below it. One thread.
class unfinished_line {
 public:
  /// Returns the bytes that show a line, which has no newline. An unfinished one is cut at the
  /// right edge of the terminal, since a line of two rows could not be replaced.
  std::string show(std::string_view source, std::string_view line, bool ended) {
    auto bytes = !open_ ? std::string() : *open_ == source ? "\x1b[K" : "\n";
    open_.reset();
    if (!ended) open_ = source;
    return bytes.append(ended ? "" : no_wrap).append(line).append(ended ? "\n" : wrap_and_return);
  }
  /// Returns the bytes after which the cursor is at the beginning of an empty row.
  std::string end() {
    bool const was_open = open_.has_value();
    open_.reset();
    return was_open ? "\n" : "";
  }

 private:
  static constexpr std::string_view no_wrap = "\x1b[?7l", wrap_and_return = "\x1b[?7h\r";
  std::optional<std::string>
      open_;  // source of the unfinished line; the cursor is at its beginning
};

}  // namespace muster
