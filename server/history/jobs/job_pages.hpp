// Views of the jobs that job_lists selects, with the core's current state. Engine thread only.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

struct failed_jobs {
  std::vector<job_view> newest;  // by end time
  std::uint64_t count = 0;       // including jobs that are not listed
};

struct failed_sessions {
  struct one {
    job_view session;
    closure_id closure{};
    time_point at{};
    std::optional<failure> why;  // nothing if the failure's text is no longer stored
  };
  std::vector<one> newest;  // by failure time
  std::uint64_t count = 0;  // including sessions that are not listed
};

/// See job_lists::page_of. Without a filter, the core's own list is used.
page<job_view, session_id> jobs(history const& h, coordinator const& core, session_id before,
                                std::size_t limit, job_filter const& filter = {});
/// Returns up to `limit` REST jobs that have failed since `since`, and the total count.
failed_jobs jobs_failed_since(history const& h, coordinator const& core, time_point since,
                              std::size_t limit);
/// Returns up to `limit` sessions with a failure since `since`, and the total count.
failed_sessions sessions_failed_since(history const& h, coordinator const& core, time_point since,
                                      std::size_t limit);
/// See job_lists::watched.
std::vector<job_view> watched_jobs(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
