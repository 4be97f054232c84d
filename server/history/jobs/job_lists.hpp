// Which jobs and sessions there are, in the lists that people look at: those that run, ended or
// failed lately, and those that a search finds. A listener; job_pages.hpp makes views of its ids.
//
// Owned by the history of a cluster; engine thread only. Limit: what the core knows, a line each
// (config::sessions_max and the ended ones that it keeps). Each list looks at every line once, but
// for `page_of`, which goes on where it ended.
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

using namespace muster::core;  // what is folded has the core's words

/// How many of each kind a live list of jobs has.
struct live_jobs {
  static constexpr std::size_t running_max = 200;
  static constexpr std::size_t ended_max = 50;
  static constexpr std::size_t failed_max = 20;
  static constexpr duration failed_for = std::chrono::hours(1);
};

struct job_filter {
  std::optional<job_state> state;
  std::optional<bool> streaming;
  std::string text;         ///< in the name or the id, whatever the case; empty: any
  bool unfinished = false;  ///< only QUEUED and RUNNING ones

  bool takes_all() const { return !state && !streaming && !unfinished && text.empty(); }
};

/// How many jobs, or sessions, are in each state.
using state_counts = std::array<std::uint64_t, enum_size<job_state>>;

class job_lists {
 public:
  /// Lines that one page looks at.
  static constexpr std::size_t looks_max = 2'000;

  struct failed_session {
    session_id session{};
    closure_id closure{};  ///< the newest of it that failed
    time_point at{};
  };

  /// Ended ones that nobody has taken. More: they are not told.
  static constexpr std::size_t ended_max = 10'000;

  void fold(changes const& c);
  /// What has ended since the last call, in that order.
  std::vector<session_id> take_ended() { return std::exchange(ended_, {}); }

  /// REST jobs that have ended in failure since then, by their end, the newest first.
  std::vector<session_id> failed_since(time_point since) const;
  /// Sessions of programs of which a closure has failed since then, by that.
  std::vector<failed_session> sessions_failed_since(time_point since) const;
  /// The running ones, the newest ended ones, and those that failed lately; newest first.
  std::vector<session_id> watched(time_point now) const;
  /// Newest first, ids below `before` (none: from the newest), of those that the filter takes. A
  /// page may be short and still have a `next`: see looks_max.
  page<session_id, session_id> page_of(session_id before, std::size_t limit,
                                       job_filter const& filter) const;

  std::size_t size() const { return lines_.size(); }
  /// Returns how many of the listed jobs, or of the listed sessions, are in each state.
  state_counts const& counts(bool streaming) const { return counts_[streaming]; }

 private:
  struct line {
    std::string name;
    delivery kind{};
    job_state state{};
    time_point finished{};
    closure_id last_failed{};  // none: nothing has failed
    time_point last_failure{};
  };
  using all_lines = std::map<session_id, line>;

  static bool takes(job_filter const& f, all_lines::value_type const& l);
  std::uint64_t& count_of(line const& l);

  all_lines lines_;
  std::array<state_counts, 2> counts_{};  // of jobs, of sessions
  std::vector<session_id> ended_;
};

}  // namespace muster::history
