#include "base/archive/ignore_rules.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace muster {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    auto const end = std::min(text.find('/'), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

// Keeps trailing spaces after a backslash.
std::string_view without_tail(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

}  // namespace

void ignore_rules::add(std::string const& directory, std::string_view lines) {
  auto const below = split(directory);
  while (!lines.empty()) {
    auto const end = std::min(lines.find('\n'), lines.size());
    add_line(below, without_tail(lines.substr(0, end)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void ignore_rules::add_line(names const& below, std::string_view line) {
  if (line.empty() || line.front() == '#') return;
  rule r{.below = below, .pattern = {}};
  if (line.front() == '!') r.ignores = false, line.remove_prefix(1);
  if (line.ends_with('/')) r.directories_only = true, line.remove_suffix(1);
  bool const tied = line.find('/') != std::string_view::npos;
  if (!tied) r.pattern.emplace_back("**");
  for (auto& name : split(line))
    if (name != "**" || r.pattern.empty() || r.pattern.back() != "**")
      r.pattern.push_back(std::move(name));
  if (r.pattern.size() > (tied ? 0u : 1u) || line == "**") rules_.push_back(std::move(r));
}

bool ignore_rules::matches(names const& pattern, std::size_t i, names const& path, std::size_t j) {
  if (i == pattern.size()) return j == path.size();
  if (pattern[i] == "**") {
    if (i + 1 == pattern.size()) return j < path.size();
    for (auto k = j; k < path.size(); ++k)
      if (matches(pattern, i + 1, path, k)) return true;
    return false;
  }
  return j < path.size() && ::fnmatch(pattern[i].c_str(), path[j].c_str(), 0) == 0 &&
         matches(pattern, i + 1, path, j + 1);
}

bool ignore_rules::ignore(std::string_view path, bool is_directory) const {
  auto const all = split(path);
  for (auto r = rules_.rbegin(); r != rules_.rend(); ++r) {
    if (r->directories_only && !is_directory) continue;
    auto const depth = r->below.size();
    if (all.size() <= depth || !std::equal(r->below.begin(), r->below.end(), all.begin())) continue;
    if (matches(r->pattern, 0, all, depth)) return r->ignores;
  }
  return false;
}

}  // namespace muster
