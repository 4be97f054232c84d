// Counters of posted notices.
#pragma once

#include <cstdint>

namespace muster {

struct notice_totals {
  std::uint64_t posted = 0;
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;  ///< too many notices were waiting
};

}  // namespace muster
