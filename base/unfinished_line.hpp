// Shows lines on a terminal. The last line can be unfinished, such as a progress bar.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace muster {

/// Produces terminal output for lines from several sources. A source's next line replaces its
/// unfinished line. Lines from other sources begin below the unfinished line. To avoid many
/// progress bars, only the first unfinished line of each other source is shown. Not thread-safe.
class unfinished_line {
 public:
  /// Maximum number of sources with unfinished lines. Lines of further sources are shown once they
  /// are complete.
  static constexpr std::size_t sources_max = 256;

  /// Returns the output that shows a line, which has no newline. An unfinished line is truncated at
  /// the terminal's right edge, because a line with two rows could not be replaced.
  std::string show(std::string_view source, std::string_view line, bool ended) {
    if (ended) {
      if (auto const found = shown_.find(source); found != shown_.end()) shown_.erase(found);
    } else if (shown_.contains(source) || shown_.size() == sources_max) {
      if (open_ && *open_ != source) return {};
    } else {
      shown_.emplace(source);
    }
    auto bytes = !open_ ? std::string() : *open_ == source ? "\x1b[K" : "\n";
    open_.reset();
    if (!ended) open_ = source;
    return bytes.append(ended ? "" : no_wrap).append(line).append(ended ? "\n" : wrap_and_return);
  }
  /// Returns the output that moves the cursor to the beginning of an empty row.
  std::string end() {
    bool const was_open = open_.has_value();
    open_.reset();
    return was_open ? "\n" : "";
  }

 private:
  static constexpr std::string_view no_wrap = "\x1b[?7l", wrap_and_return = "\x1b[?7h\r";
  // Source of the unfinished line. The cursor is at the beginning of this line.
  std::optional<std::string> open_;
  std::set<std::string, std::less<>> shown_;  // sources whose unfinished line was shown
};

}  // namespace muster
