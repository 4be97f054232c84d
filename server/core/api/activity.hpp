// Worker activity for readers: execution spans and per-minute sums.
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

enum class span_state : std::uint8_t { succeeded = 0, failed = 1, cancelled = 2, lost = 3 };
constexpr auto enum_names(span_state) {
  using enum span_state;
  return enumerators<span_state>(succeeded, "SUCCEEDED", failed, "FAILED", cancelled, "CANCELLED",
                                 lost, "LOST");
}

inline constexpr function_id several_functions{~std::uint32_t{0}};

struct execution {
  closure_id closure{};
  session_id job{};  // not set for internal closures
  function_id function{};
  span_state state{};
  time_point started{};
  time_point ended{};
};

/// A task that executes or has executed closures. `lane` is stable until the task is forgotten.
struct lane_view {
  std::uint32_t lane = 0;
  std::string job;
  std::int64_t index = 0;
  std::uint32_t slots = 0;
};

/// One execution, or the sum of short executions within activity_log::sum_span.
struct span_view {
  std::uint32_t lane = 0;
  function_id function{};  // `several_functions` if the summed closures call different functions
  span_state state{};      // FAILED if any summed execution failed
  time_point started{};
  duration lasted{};  // time from the first start to the last end
  duration busy{};
  std::uint32_t count = 1;
  std::uint32_t failed = 0;
  closure_id closure{};
  session_id job{};
  bool operator==(span_view const&) const = default;
};

struct running_view {
  std::uint32_t lane = 0;
  function_id function{};
  time_point started{};
  closure_id closure{};
  session_id job{};
};

struct minute_view {
  std::uint32_t lane = 0;
  function_id function{};
  time_point begin{};
  std::uint32_t count = 0;
  std::uint32_t failed = 0;
  duration busy{};
};

/// Job and index of a task; also used as a page cursor.
using lane_key = std::pair<std::string, std::int64_t>;

struct activity_filter {
  time_point from{}, to = never;
  session_id job{};                  // all jobs if not set; sums are never part of a job
  std::vector<lane_key> lanes = {};  // sorted; empty selects all lanes
};

struct activity_names {
  std::vector<lane_view> lanes;
  std::vector<std::pair<function_id, std::string>> functions;
};

struct span_page {
  std::vector<span_view> spans;
  std::uint64_t next = 0;
  bool more = false;
  time_point complete_since{};
  bool all = true;  // true if no span was removed since complete_since
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
