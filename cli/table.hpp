// A table for a terminal. A column is as wide as its widest cell; numbers are right-aligned.
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
inline column right(char const* title) {
  return {title, true};
}

class table {
 public:
  explicit table(std::vector<column> columns) : columns_(std::move(columns)), rows_(1) {
    for (auto const& c : columns_) rows_[0].push_back(c.title);
  }
  /// Makes the cells safe for a terminal.
  void add(std::vector<std::string> cells);
  void print(std::ostream& out) const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Returns untrusted text as one safe line (see neutral_text) of at most `width_max` characters. An
/// ellipsis marks a cut.
std::string for_terminal(std::string text, std::size_t width_max = std::string::npos);

}  // namespace muster::cli
