// Time as the core sees it: values handed in by the shell, never read from a clock here.
//
// A `time_point` counts microseconds since the Unix epoch. The shell anchors a steady clock to the
// wall clock once at start, so values never go backwards and can still be shown to people.
#pragma once

#include <chrono>
#include <cstdint>

namespace muster::core {

using duration = std::chrono::microseconds;
using time_point = std::chrono::sys_time<std::chrono::microseconds>;

inline constexpr time_point never = time_point::max();

/// Sets each time of `past` that is later than `now` to `now`, except `never`. What a server
/// restores may be later, because the clock of the server before it was ahead: a pause or a
/// deadline that counts from there would last longer by the difference.
template <class... T>
void limit_to(time_point now, T&... past) {
  ((past = past == never || past < now ? past : now), ...);
}

/// Milliseconds since the Unix epoch, the unit of every outer interface.
inline std::int64_t to_unix_ms(time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

}  // namespace muster::core
