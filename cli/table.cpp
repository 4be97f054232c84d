#include "cli/table.hpp"

#include <algorithm>

#include "cli/neutral_text.hpp"

namespace muster::cli {
namespace {

// Counts code points, each of which takes one cell on most terminals.
std::size_t width(std::string const& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

void table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = for_terminal(std::move(cell));
  rows_.push_back(std::move(cells));
}

void table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(columns_.size());
  for (auto const& row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width(row[i]));
  for (auto const& row : rows_) {
    std::string text;
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      auto const padding = std::string(widths[i] - width(row[i]), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].right ? padding + row[i] : row[i] + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
}

std::string for_terminal(std::string text, std::size_t width_max) {
  text = neutral_text(text, text_layout::line);
  if (width(text) <= width_max) return text;
  std::size_t kept = 0, end = 0;
  while (end < text.size() && kept + 1 < width_max) {
    do ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
    ++kept;
  }
  return text.substr(0, end) + "…";
}

}  // namespace muster::cli
