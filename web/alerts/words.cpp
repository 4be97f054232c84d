#include "web/alerts/words.hpp"

#include <algorithm>
#include <cstdio>

#include "base/text.hpp"

namespace muster::web {

std::string some_of(std::span<std::string const> names, std::size_t total) {
  auto const shown = std::min<std::size_t>(3, names.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (total > shown) text += " and " + std::to_string(total - shown) + " more";
  return text;
}

std::string length_of(core::duration d) {
  auto const s = std::chrono::duration<double>(d).count();
  char text[32];
  if (s < 10)
    std::snprintf(text, sizeof text, "%.1f s", s);
  else if (s < 120)
    std::snprintf(text, sizeof text, "%.0f s", s);
  else if (s < 7'200)
    std::snprintf(text, sizeof text, "%.0f min", s / 60);
  else
    std::snprintf(text, sizeof text, "%.0f h", s / 3'600);
  return text;
}

std::string page_link(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string>> query) {
  char before = '?';
  for (auto const& [name, value] : query) {
    if (value.empty()) continue;
    path += before + std::string(name) + "=" + percent_encoded(value);
    before = '&';
  }
  return path;
}

std::optional<std::string> shell_word(std::string_view text) {
  auto const is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) return {};
  auto const is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-.:/@%+=,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), is_plain))
    return std::string(text);
  std::string word = "'";
  for (char const c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string cluster_flag(std::string const& cluster) {
  return cluster.empty() ? std::string() : " --cluster " + cluster;
}

std::string mib(std::uint64_t bytes) {
  return with_thousands(bytes >> 20) + " MiB";
}

}  // namespace muster::web
