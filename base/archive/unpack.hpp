// An archive of code as a directory. It may have been made by anybody, to harm: it has files,
// directories and symbolic links that stay within it, and nothing else; who owned them, their times
// and setuid bits are not taken over. Any thread; waits for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

#include "base/archive/tree_limits.hpp"

namespace muster {

/// For people, in one line.
class unpack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct unpacked_tree {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;  // of its files
};

/// A tar, plain or compressed by gzip or zstd, into `to`, an empty directory that nobody else
/// writes to. Errors: unpack_error: the archive is none, is damaged, is larger than `limits`, has
/// what it may not have, or the disk fails; what was unpacked until then stays there.
unpacked_tree unpack(std::filesystem::path const& archive, std::filesystem::path const& to,
                     tree_limits const& limits = {});

}  // namespace muster
