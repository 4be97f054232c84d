// Splits a byte stream into lines. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/overwritten.hpp"

namespace muster {

class line_splitter {
 public:
  using line_function = std::function<void(std::string_view line)>;
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds stands_for{1};

  /// Calls `line` with each line without its newline, after applying `overwritten`. Splits lines
  /// longer than `bytes_max`.
  explicit line_splitter(line_function line, std::size_t bytes_max = std::size_t{8} << 10)
      : line_(std::move(line)), bytes_max_(bytes_max) {}

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      auto const end = bytes.find('\n');
      append(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      finish();
      bytes.remove_prefix(end + 1);
    }
  }
  void end() {
    if (!rest_.empty()) finish();
  }

  /// Returns whether an unfinished line has changed since its last report.
  bool stands() const { return changed_; }
  /// Reports an unfinished line, with a carriage return at its end, when `stands_for` has passed
  /// since its last report, or since the first call. The complete line is still reported later.
  void report_pending_line(clock::time_point now) {
    if (!changed_) return;
    if (since_ == clock::time_point{}) since_ = now;
    if (now < since_ + stands_for) return;
    since_ = now;
    changed_ = false;
    line_(std::string(overwritten(rest_)) + '\r');
  }

 private:
  void append(std::string_view part) {
    auto const body = part.substr(0, part.find_last_not_of('\r') + 1);
    if (auto const last = body.rfind('\r'); last != std::string_view::npos) {
      rest_.clear();
      part.remove_prefix(last + 1);
    } else if (!body.empty() && rest_.ends_with('\r')) {
      rest_.clear();
    }
    while (rest_.size() + part.size() > bytes_max_) {
      auto const room = bytes_max_ - rest_.size();
      rest_ += part.substr(0, room);
      part.remove_prefix(room);
      finish();
    }
    rest_ += part;
    changed_ = !rest_.empty();
  }
  void finish() {
    line_(overwritten(rest_));
    rest_.clear();
    changed_ = false;
    since_ = {};
  }

  line_function line_;
  std::size_t bytes_max_;
  std::string rest_;
  bool changed_ = false;
  clock::time_point since_{};
};

}  // namespace muster
