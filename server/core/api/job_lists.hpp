// Lists of jobs that are more than a page of all: which failed lately, which somebody watches.
#pragma once

#include "server/core/api/views.hpp"

namespace muster::core {

struct failed_jobs {
  std::vector<job_view> newest;  // by their end
  std::uint64_t count = 0;       // with those that are not listed
};

/// Sessions of programs of which a closure has failed.
struct failed_sessions {
  struct one {
    job_view session;
    closure_id closure{};  // the newest that failed
    time_point at{};
    std::optional<failure> why;  // none: its text is not kept any more
  };
  std::vector<one> newest;  // by that
  std::uint64_t count = 0;  // with those that are not listed
};

/// How many of each kind a live list of jobs has.
struct live_jobs {
  static constexpr std::size_t running_max = 200;
  static constexpr std::size_t ended_max = 50;
  static constexpr std::size_t failed_max = 20;
  static constexpr duration failed_for = std::chrono::hours(1);
};

}  // namespace muster::core
