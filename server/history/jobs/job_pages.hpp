// Views of the jobs selected by job_lists, with the core's current state. Engine thread only.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

struct failed_jobs {
  std::vector<job_view> newest;  // by end
  std::uint64_t count = 0;       // including jobs that are not listed
};

struct failed_sessions {
  struct one {
    job_view session;
    closure_id closure{};
    time_point at{};
    std::optional<failure> why;  // none: its text is no longer stored
  };
  std::vector<one> newest;  // by time of the failure
  std::uint64_t count = 0;  // including sessions that are not listed
};

/// See job_lists::page_of. Without a filter, the core answers.
page<job_view, session_id> jobs(history const& h, coordinator const& core, session_id before,
                                std::size_t limit, job_filter const& filter = {});
/// Returns up to `limit` failed REST jobs since then, and the count of all.
failed_jobs jobs_failed_since(history const& h, coordinator const& core, time_point since,
                              std::size_t limit);
/// Returns up to `limit` sessions with a failure since then, and the count of all.
failed_sessions sessions_failed_since(history const& h, coordinator const& core, time_point since,
                                      std::size_t limit);
/// See job_lists::watched.
std::vector<job_view> watched_jobs(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
