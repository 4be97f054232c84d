// A table on a terminal: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace muster::cli {

struct column {
  column(char const* text, bool numbers = false) : title(text), right(numbers) {}
  std::string title;
  bool right;
};
/// A column of numbers.
inline column right(char const* title) {
  return {title, true};
}

class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)), rows_(1) {
    for (auto const& c : columns_) rows_[0].push_back(c.title);
  }
  /// Adds a row. Its texts are made fit for a terminal.
  void add(std::vector<std::string> cells);
  void print(std::ostream& out) const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;  // first the titles
};

/// 1234567 → "1,234,567".
std::string with_thousands(std::uint64_t n);
/// Returns text of others as one line that is fit for a terminal (see neutral_text), of at most
/// `width_max` characters, with an ellipsis where it was cut.
std::string for_terminal(std::string text, std::size_t width_max = std::string::npos);

}  // namespace muster::cli
