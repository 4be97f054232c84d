// Rules about what is left out, as lines of a .gitignore: the last one that matches decides, "!"
// takes back, "/" at the end is for directories alone, "/" elsewhere ties to the file's own
// directory, "*" stays within a name, "**" does not. Pure; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class ignore_rules {
 public:
  /// Lines of a file in `directory`, which is relative to the root, and empty for that. They are
  /// about what lies below it.
  void add(std::string const& directory, std::string_view lines);
  /// `path`: relative to the root, its names joined by "/". Nobody asks about what lies in an
  /// ignored directory.
  bool ignore(std::string_view path, bool is_directory) const;

  std::size_t size() const { return rules_.size(); }
  /// Forgets those that were added after there were so many.
  void shrink(std::size_t size) { rules_.resize(size); }

 private:
  using names = std::vector<std::string>;
  struct rule {
    names below;    // of the file's directory
    names pattern;  // "**": any number of names
    bool ignores = true;
    bool directories_only = false;
  };
  static bool matches(names const& pattern, std::size_t i, names const& path, std::size_t j);
  void add_line(names const& below, std::string_view line);

  std::vector<rule> rules_;
};

}  // namespace muster
