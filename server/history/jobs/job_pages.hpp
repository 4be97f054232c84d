// Views of the jobs that job_lists selects. Used only on the engine thread.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

struct failed_jobs {
  std::vector<job_view> newest;  // ordered by end time
  std::uint64_t count = 0;       // including unlisted jobs
};

struct failed_sessions {
  struct one {
    job_view session;
    closure_id closure{};
    time_point at{};
    std::optional<failure> why;  // empty if the text is no longer stored
  };
  std::vector<one> newest;  // ordered by failure time
  std::uint64_t count = 0;  // including unlisted sessions
};

/// See job_lists::page_of. Without a filter, the core's own list is used.
page<job_view, session_id> jobs(history const& h, coordinator const& core, session_id before,
                                std::size_t limit, job_filter const& filter = {});
failed_jobs jobs_failed_since(history const& h, coordinator const& core, time_point since,
                              std::size_t limit);
failed_sessions sessions_failed_since(history const& h, coordinator const& core, time_point since,
                                      std::size_t limit);
std::vector<job_view> watched_jobs(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
