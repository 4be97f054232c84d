// Charts of the past: what is on disk as points and spans, put together into as many steps as a
// picture has room for. Pure but for the store that is read.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "web/json/members.hpp"
#include "web/metrics/samples.hpp"
#include "web/rest/past/past_reading.hpp"

namespace muster::web {

/// Of one picture.
inline constexpr std::size_t steps_default = 300, steps_max = 1'000;

struct past_samples {
  core::duration step = std::chrono::seconds(1);
  std::deque<sample_history::point> points;
  core::time_point until{};  // what is later was not looked at
};
void members(member_list const& m, past_samples const& s);

/// REQUIRES: it ends.
past_samples read_samples(server::history_store const& store, past_query const& q,
                          std::size_t steps);

/// What workers of a cluster did.
struct past_stream {
  /// Cells of all lanes together; what more lanes did is counted.
  static constexpr std::size_t cells_max = 100'000, functions_max = 200;

  struct lane {
    core::lane_key task;
    std::vector<std::int64_t> busy_us;
    std::vector<std::uint64_t> ended, failed;
  };
  struct function {
    std::string name;  // empty: of several, or of those for which there was no room
    std::uint64_t ended = 0, failed = 0;
    core::duration busy{};
  };

  std::string cluster;
  core::time_point from{}, until{};
  core::duration step{};
  std::vector<lane> lanes;
  std::vector<function> functions;
  std::uint64_t left_out = 0;  // closures of lanes for which there was no room
};
void members(member_list const& m, past_stream const& s);

/// REQUIRES: it ends.
past_stream read_stream(server::history_store const& store, std::string cluster,
                        past_query const& q, std::size_t steps);

}  // namespace muster::web
