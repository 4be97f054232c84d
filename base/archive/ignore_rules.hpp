// Ignore rules in .gitignore format. The last matching rule decides; "!" reverts earlier rules. A
// pattern with a trailing "/" matches only directories. Any other "/" anchors the pattern to the
// file's directory. "*" matches within a name, "**" across names. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class ignore_rules {
 public:
  /// Adds the lines of an ignore file in `directory`, a path relative to the root. An empty path
  /// means the root. The rules apply below `directory`.
  void add(std::string const& directory, std::string_view lines);
  /// Returns whether to ignore a path. The path is relative to the root, with "/" as separator.
  /// Must not be called for contents of ignored directories.
  bool ignore(std::string_view path, bool is_directory) const;

  std::size_t size() const { return rules_.size(); }
  void shrink(std::size_t size) { rules_.resize(size); }

 private:
  using names = std::vector<std::string>;
  struct rule {
    names below;
    names pattern;  // "**", which matches any number of names
    bool ignores = true;
    bool directories_only = false;
  };
  static bool matches(names const& pattern, std::size_t i, names const& path, std::size_t j);
  void add_line(names const& below, std::string_view line);

  std::vector<rule> rules_;
};

}  // namespace muster
