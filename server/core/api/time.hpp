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

/// Milliseconds since the Unix epoch, the unit of every outer interface.
inline std::int64_t to_unix_ms(time_point t) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

}  // namespace muster::core
