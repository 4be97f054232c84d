// Packs a directory into a gzipped tar whose bytes depend only on names, contents, links and
// executable bits. Excludes `.git`, special files, and entries that .musterignore files list, or
// .gitignore files if the root has no .musterignore. Thread-safe; blocks on disk access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/archive/tree_limits.hpp"

namespace muster {

class pack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns "1.5 MiB", or "1.5 KiB" below one MiB.
std::string format_size(std::uint64_t bytes);

struct packed_tree {
  std::string bytes;
  std::size_t files = 0;
  std::uint64_t file_bytes = 0;
  /// Paths of packed files that probably contain secrets: files readable only by their owner, with
  /// names that end in .key, .pem or .token.
  std::vector<std::string> secrets;
};

/// @param progress called periodically with the counts so far
/// @throws pack_error if the directory is unreadable, is larger than `limits` (the message lists
///   the largest files), contains a symbolic link that leads out, or changes during packing
packed_tree pack(std::filesystem::path const& directory, tree_limits const& limits = {},
                 std::function<void(packed_tree const&)> const& progress = {});

}  // namespace muster
