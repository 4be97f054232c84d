// Times as they stand in the journal: µs since the Unix epoch.
#pragma once

#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::server::journal {

inline std::int64_t us(core::time_point t) {
  return t.time_since_epoch().count();
}
inline core::time_point time(std::int64_t us) {
  return core::time_point(core::duration(us));
}

}  // namespace muster::server::journal
