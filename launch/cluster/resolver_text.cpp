#include "launch/cluster/resolver_text.hpp"

#include <algorithm>
#include <charconv>

namespace muster::cluster {
namespace {

constexpr std::size_t quoted_bytes_max = 80;
constexpr std::size_t listed_max = 20;

bool is_control(char c) {
  auto const byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

std::string_view shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

std::string printable(std::string_view text) {
  constexpr auto digits = "0123456789abcdef";
  std::string out;
  for (auto const c : text) {
    if (!is_control(c)) {
      out += c;
      continue;
    }
    auto const byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string quoted(std::string_view text) {
  auto const kept = shortened(text, quoted_bytes_max);
  return "'" + printable(kept) + (kept.size() < text.size() ? "…'" : "'");
}

std::string listed(std::vector<std::string> const& names) {
  if (names.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), listed_max); ++i)
    text += (i == 0 ? "" : ", ") + printable(shortened(names[i], quoted_bytes_max));
  if (names.size() > listed_max)
    text += " and " + std::to_string(names.size() - listed_max) + " more";
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  auto const first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    auto const end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int> parse_count(std::string_view text, int most) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  int n = 0;
  auto const [at, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || at != text.data() + text.size() || n > most) return {};
  return n;
}

}  // namespace muster::cluster
