// Unpacks archives from untrusted sources. Accepts only files, directories and symbolic links that
// stay inside the target. Ignores owners, times and setuid bits. Thread-safe; blocks on disk
// access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "base/archive/tree_limits.hpp"

namespace muster {

class unpack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct unpacked_tree {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;
};

/// Unpacks a tar file, plain or compressed with gzip or zstd, into `to`, an empty directory to
/// which no other process writes.
/// @throws unpack_error if the archive is invalid, damaged, larger than `limits` or has forbidden
///   contents, or if the disk fails; unpacked files remain
unpacked_tree unpack(std::filesystem::path const& archive, std::filesystem::path const& to,
                     tree_limits const& limits = {});

}  // namespace muster
