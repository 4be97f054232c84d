// Packs a directory into a gzipped tar whose bytes depend only on names, contents, links and
// executable bits. Files are excluded by .musterignore files. If the directory has none, .gitignore
// files apply, each to what is below it. `.git` and special files are never included. Any thread;
// blocks on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/archive/tree_limits.hpp"

namespace muster {

/// Error with a message for people, of one or more lines.
class pack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns a size for people: "1.5 MiB", or "1.5 KiB" below one MiB.
std::string size_in_words(std::uint64_t bytes);

struct packed_tree {
  std::string bytes;
  std::size_t files = 0;
  std::uint64_t file_bytes = 0;
};

/// Packs a directory.
/// @param progress called from time to time with the counts so far
/// @throws pack_error: the directory is unreadable, is larger than `limits` (the message lists the
/// largest files), contains a symbolic link that leads out of it, or a file changed while it was
/// read
packed_tree pack(std::filesystem::path const& directory, tree_limits const& limits = {},
                 std::function<void(packed_tree const&)> const& progress = {});

}  // namespace muster
