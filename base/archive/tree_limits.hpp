// Size limits for packing and unpacking a code tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster {

struct tree_limits {
  std::uint64_t bytes_max = std::uint64_t{512} << 20;
  std::size_t entries_max = 100'000;
};

}  // namespace muster
