// Time in the core: values that the shell passes in. The core never reads a clock.
//
// A `time_point` counts microseconds since the Unix epoch. The shell anchors a steady clock to the
// wall clock once at start, so values never decrease and can still be shown to people.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster::core {

using duration = std::chrono::microseconds;
using time_point = std::chrono::sys_time<std::chrono::microseconds>;

inline constexpr time_point never = time_point::max();

/// Sets each time of `past` that is later than `now` to `now`, except `never`. Restored times can
/// be in the future if the previous server's clock was ahead. A pause or a deadline that counts
/// from such a time would be too long.
template <class... T>
void limit_to(time_point now, T&... past) {
  ((past = past == never || past < now ? past : now), ...);
}

/// Returns milliseconds since the Unix epoch, the unit of all external interfaces.
inline std::int64_t to_unix_ms(time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

}  // namespace muster::core
