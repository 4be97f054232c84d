// Times as records have them: µs since the Unix epoch.
#pragma once

#include <cstdint>

#include "server/core/api/time.hpp"

namespace muster::server {

inline std::int64_t us_of(core::time_point t) {
  return t.time_since_epoch().count();
}
inline core::time_point from_us(std::int64_t us) {
  return core::time_point(core::duration(us));
}

}  // namespace muster::server
