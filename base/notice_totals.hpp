// What became of notices that were to be posted. Plain data.
#pragma once

#include <cstdint>

namespace muster {

struct notice_totals {
  std::uint64_t posted = 0;
  std::uint64_t failed = 0;   ///< an address did not take it
  std::uint64_t dropped = 0;  ///< too many waited
};

}  // namespace muster
