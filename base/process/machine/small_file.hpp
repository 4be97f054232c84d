// Reads and parses kernel files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Returns up to 1 MiB, or an empty string if the file is unreadable.
std::string read_small_file(std::string const& path);
/// Returns the number at the beginning, after blanks.
std::optional<std::uint64_t> leading_number(std::string_view text);
/// Returns the number after `key`, such as "MemTotal:", if a line begins with `key`.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key);
template <class Line>
void each_line(std::string_view text, Line const& line) {
  while (!text.empty()) {
    auto const end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}
/// Removes and returns the next word, or an empty string.
std::string_view next_field(std::string_view& text);

}  // namespace muster
