// The project's files as lines, for tests that read them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

struct source {
  std::string path;  // from the top of the project
  std::vector<std::string> lines;

  bool in(std::string_view folder) const { return path.starts_with(folder); }
  bool is_header() const { return path.ends_with(".hpp"); }
};

inline bool skipped(std::string const& path) {
  for (auto const* folder : {"build", ".git", "web/dashboard/node_modules", "web/dashboard/dist"})
    if (path == folder || path.starts_with(std::string(folder) + "/")) return true;
  return path.find("node_modules") != std::string::npos;
}

inline std::vector<source> read_tree(std::function<bool(std::string const&)> const& wanted) {
  fs::path const top = MUSTER_SOURCE_DIR;
  std::vector<source> all;
  for (fs::recursive_directory_iterator it(top), end; it != end; ++it) {
    auto const path = fs::relative(it->path(), top).string();
    if (skipped(path)) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || !wanted(path)) continue;
    auto& s = all.emplace_back(source{path, {}});
    auto file = std::ifstream(it->path());
    for (std::string line; std::getline(file, line);) s.lines.push_back(line);
  }
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.path < b.path; });
  return all;
}

inline std::vector<source> const& cpp_sources() {
  static auto const all =
      read_tree([](std::string const& p) { return p.ends_with(".hpp") || p.ends_with(".cpp"); });
  return all;
}
