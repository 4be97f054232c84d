// Lists of jobs and sessions, for example of running, ended or failed jobs. Owned by a cluster's
// history; used only on the engine thread. Limit: one entry per job of the core. Building a list
// visits all entries, except for `page_of`.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/views.hpp"

namespace muster::history {

using namespace muster::core;

struct live_jobs {
  static constexpr std::size_t running_max = 200;
  static constexpr std::size_t ended_max = 50;
  static constexpr std::size_t failed_max = 20;
  static constexpr duration failed_for = std::chrono::hours(1);
};

struct job_filter {
  std::optional<job_state> state;
  std::optional<bool> streaming;
  std::string text;         ///< substring of the name or ID, ignoring case; if empty, all jobs
  bool unfinished = false;  ///< only QUEUED and RUNNING jobs

  bool takes_all() const { return !state && !streaming && !unfinished && text.empty(); }
};

using state_counts = std::array<std::uint64_t, enum_size<job_state>>;

class job_lists {
 public:
  static constexpr std::size_t looks_max = 2'000;

  struct failed_session {
    session_id session{};
    closure_id closure{};
    time_point at{};
  };

  /// Maximum number of jobs that finish between calls of take_ended(). At the limit, further jobs
  /// are omitted.
  static constexpr std::size_t ended_max = 10'000;

  void fold(changes const& c);
  /// Returns the jobs that have finished since the last call, in the order in which they finished.
  std::vector<session_id> take_ended() { return std::exchange(ended_, {}); }

  /// Returns failed REST jobs; the job that finished last comes first.
  std::vector<session_id> failed_since(time_point since) const;
  /// Returns sessions of programs in which a closure has failed, ordered by failure time.
  std::vector<failed_session> sessions_failed_since(time_point since) const;
  std::vector<session_id> watched(time_point now) const;
  /// Returns matching jobs with IDs below `before`, newest first; 0 means no limit. Visits at most
  /// looks_max entries, so a page with a `next` can be short.
  page<session_id, session_id> page_of(session_id before, std::size_t limit,
                                       job_filter const& filter) const;

  std::size_t size() const { return lines_.size(); }
  state_counts const& counts(bool streaming) const { return counts_[streaming]; }

 private:
  struct line {
    std::string name;
    delivery kind{};
    job_state state{};
    time_point finished{};
    closure_id last_failed{};
    time_point last_failure{};
  };
  using all_lines = std::map<session_id, line>;

  static bool takes(job_filter const& f, all_lines::value_type const& l);
  std::uint64_t& count_of(line const& l);

  all_lines lines_;
  std::array<state_counts, 2> counts_{};  // index 0: jobs; index 1: sessions
  std::vector<session_id> ended_;
};

}  // namespace muster::history
