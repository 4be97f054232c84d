// A directory as an archive: a gzipped tar whose bytes depend on nothing but names, contents, links
// and whether a file may be executed. What is left out stand in .musterignore files; where the
// directory has none, in .gitignore files, each for what lies below it. `.git` is never in it, and
// what is no file, directory or symbolic link is not either. Any thread; may wait for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/archive/tree_limits.hpp"

namespace muster {

/// In words for people, in one line or several.
class pack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "1.5 MiB", below one "1.5 KiB": for people.
std::string size_in_words(std::uint64_t bytes);

struct packed_tree {
  std::string bytes;
  std::size_t files = 0;
  std::uint64_t file_bytes = 0;
};

/// `progress` is told now and then how many files and bytes of them are in it. Errors: pack_error:
/// it cannot be read; it is larger than `limits` (then the largest files are named); a symbolic
/// link leads out of it; a file changed meanwhile.
packed_tree pack(std::filesystem::path const& directory, tree_limits const& limits = {},
                 std::function<void(packed_tree const&)> const& progress = {});

}  // namespace muster
