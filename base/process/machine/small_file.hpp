// Files of the kernel, whole, and numbers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Empty: it cannot be read. At most a MiB of it.
std::string read_small_file(std::string const& path);
/// The number with which the text begins, blanks before it left out.
std::optional<std::uint64_t> leading_number(std::string_view text);
/// The number behind `key` at the beginning of a line: "MemTotal:", "usage_usec".
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key);
/// Calls `line(std::string_view)` for each.
template <class Line>
void each_line(std::string_view text, Line const& line) {
  while (!text.empty()) {
    auto const end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}
/// The next word, which goes from the text; empty: there is none.
std::string_view next_word(std::string_view& text);

}  // namespace muster
