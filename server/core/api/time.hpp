// Time in the core, which never reads a clock; callers pass in the time. A `time_point` counts
// microseconds since the Unix epoch. It is derived from a steady clock, so it never decreases.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster::core {

using duration = std::chrono::microseconds;
using time_point = std::chrono::sys_time<std::chrono::microseconds>;

inline constexpr time_point never = time_point::max();

/// Limits each time in `past` to `now`, except `never`. Restored times can be in the future if the
/// previous server's clock was ahead.
template <class... T>
void limit_to(time_point now, T&... past) {
  ((past = past == never || past < now ? past : now), ...);
}

/// Returns milliseconds since the Unix epoch.
inline std::int64_t to_unix_ms(time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

}  // namespace muster::core
