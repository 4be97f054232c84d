// Charts of past activity from disk.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "web/json/members.hpp"
#include "web/metrics/samples.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

inline constexpr std::size_t steps_default = 300, steps_max = 1'000;

struct history_samples {
  core::duration step = std::chrono::seconds(1);
  std::deque<sample_history::point> points;
  core::time_point until{};  // data after this time was not read
};
void members(member_list const& m, history_samples const& s);

/// REQUIRES: the end of `q` is set.
history_samples read_samples(server::history_store const& store, history_query const& q,
                             std::size_t steps);

struct history_stream {
  /// Maximum number of cells; the activity of further lanes is only counted.
  static constexpr std::size_t cells_max = 100'000, functions_max = 200;

  struct lane {
    core::lane_key task;
    std::vector<std::int64_t> busy_us;
    std::vector<std::uint64_t> ended, failed;
  };
  struct function {
    std::string name;  // empty for several functions, or beyond functions_max
    std::uint64_t ended = 0, failed = 0;
    core::duration busy{};
  };

  std::string cluster;
  core::time_point from{}, until{};
  core::duration step{};
  std::vector<lane> lanes;
  std::vector<function> functions;
  std::uint64_t left_out = 0;  // closures in lanes beyond the limit
};
void members(member_list const& m, history_stream const& s);

/// REQUIRES: the end of `q` is set.
history_stream read_stream(server::history_store const& store, std::string cluster,
                           history_query const& q, std::size_t steps);

}  // namespace muster::web
