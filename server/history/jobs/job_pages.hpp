// Views of the jobs in the lists: what job_lists chooses, as the core knows it now. Engine thread
// only.
#pragma once

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace muster::history {

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

/// See job_lists::page_of. Without a filter the core is asked.
page<job_view, session_id> jobs(history const& h, coordinator const& core, session_id before,
                                std::size_t limit, job_filter const& filter = {});
/// REST jobs that ended in failure since then; more than `limit` are counted.
failed_jobs jobs_failed_since(history const& h, coordinator const& core, time_point since,
                              std::size_t limit);
/// Sessions with a failure since then, with what it said; the same.
failed_sessions sessions_failed_since(history const& h, coordinator const& core, time_point since,
                                      std::size_t limit);
/// See job_lists::watched.
std::vector<job_view> watched_jobs(history const& h, coordinator const& core, time_point now);

}  // namespace muster::history
