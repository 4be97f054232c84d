// Activity of workers for readers: spans of executions, and sums by minute. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

using muster::name;

/// How one execution ended; LOST with its worker.
enum class span_state : std::uint8_t { succeeded = 0, failed = 1, cancelled = 2, lost = 3 };
constexpr auto enum_names(span_state) {
  using enum span_state;
  return enumerators<span_state>(succeeded, "SUCCEEDED", failed, "FAILED", cancelled, "CANCELLED",
                                 lost, "LOST");
}

/// Several functions, shown together.
inline constexpr function_id several_functions{~std::uint32_t{0}};

struct execution {
  closure_id closure{};
  session_id job{};  // none: the core's own
  function_id function{};
  span_state state{};
  time_point started{};
  time_point ended{};
};

/// A task that executes, or has executed. Its number is stable while its name is known.
struct lane_view {
  std::uint32_t lane = 0;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;  // maximum
};

/// An execution, or the sum of a function's short ones within activity_log::sum_span.
struct span_view {
  std::uint32_t lane = 0;
  function_id function{};  // sum: the common one, or several_functions
  span_state state{};      // sum: FAILED if one has
  time_point started{};
  duration lasted{};  // sum: from the first start to the last end
  duration busy{};    // sum: total execution time
  std::uint32_t count = 1;
  std::uint32_t failed = 0;
  closure_id closure{};  // none for a sum
  session_id job{};      // none for a sum, and for the core's own
  bool operator==(span_view const&) const = default;
};

struct running_view {
  std::uint32_t lane = 0;
  function_id function{};
  time_point started{};
  closure_id closure{};
  session_id job{};
};

/// A lane's activity in one minute.
struct minute_view {
  std::uint32_t lane = 0;
  function_id function{};  // the only one that ran, or several_functions
  time_point begin{};
  std::uint32_t count = 0;  // that ended
  std::uint32_t failed = 0;
  duration busy{};  // of all executions, ended or not
};

/// The name of a lane, also the position of a page.
using lane_key = std::pair<std::string, std::int64_t>;

/// The filter of a query. Sums belong to no job.
struct activity_filter {
  time_point from{}, to = never;
  session_id job{};                  // none: any
  std::vector<lane_key> lanes = {};  // sorted; empty: all
};

struct activity_names {
  std::vector<lane_view> lanes;  // by number
  std::vector<std::pair<function_id, std::string>> functions;
};

struct span_page {
  std::vector<span_view> spans;
  std::uint64_t next = 0;
  bool more = false;
  time_point complete_since{};  // earlier spans may be missing
  bool all = true;              // nothing was removed: recording began at complete_since
  activity_names names;
};

struct running_page {
  std::vector<running_view> running;
  std::optional<lane_key> next;
  activity_names names;
};

struct minute_page {
  std::vector<minute_view> minutes;
  std::optional<lane_key> next;
  activity_names names;
};

}  // namespace muster::core
