// Records the recent activity of workers. An execution of at least 1 ms is stored as a span.
// Shorter executions are summed per lane, function and 100 ms. Each lane also stores its last hour
// by minutes. A lane represents a task, whose workers can change. Storage of executions:
//
//   short ──► the worker's open sum, a growing span ──after 100 ms──► the lane's minutes
//   long  ──► its own span ─────────────────────────────────────────► the lane's minutes
//
// Spans are numbered in order of creation and stored in chunks. Spans of the current 100 ms can
// still grow and are not returned yet.
//
// Millions of short executions can end per second. If a worker still runs the same function, only
// its open sum is updated, without a lookup or an allocation. A worker's functions beyond sums_max
// share one sum.
//
// Owned by a cluster's history; used only on the engine thread. Limits:
// - config::activity_bytes_max for spans in the whole server. At the limit, this cluster's oldest
//   chunk is dropped, except for its two newest chunks.
// - config::tasks_max lanes of 2 KiB each. At the limit, the lane whose worker left longest ago is
//   dropped.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/history/names.hpp"

namespace muster::history {

using namespace muster::core;

/// Returns the first entry after `after` in a map indexed by lane_key. `only` lists the lanes to
/// include, sorted; if empty, all lanes are included.
template <class Map>
auto behind(Map const& all, std::vector<lane_key> const& only,
            std::optional<lane_key> const& after) {
  if (only.empty()) return after ? all.upper_bound(*after) : all.begin();
  auto it = after ? std::upper_bound(only.begin(), only.end(), *after) : only.begin();
  for (; it != only.end(); ++it)
    if (auto const found = all.find(*it); found != all.end()) return found;
  return all.end();
}

class activity_log {
 public:
  static constexpr duration short_below = std::chrono::milliseconds(1);
  static constexpr duration sum_span = std::chrono::milliseconds(100);
  static constexpr std::uint32_t minutes_kept = 60;
  static constexpr duration kept_for = std::chrono::minutes(minutes_kept);
  static constexpr std::size_t sums_max = 4;
  static constexpr std::uint32_t spans_a_chunk = 4096;
  static constexpr std::size_t span_bytes = 32;
  static constexpr std::size_t chunk_bytes = spans_a_chunk * span_bytes;

  /// `c` and `wide` must outlive the log. The log contains all spans from `start` on.
  activity_log(config const& c, server_wide& wide, time_point start)
      : config_(c), wide_(wide), recorded_since_(start), complete_since_(start) {}
  ~activity_log();
  activity_log(activity_log const&) = delete;

  void fold(changes const& c, names const& named, time_point now);

  /// Assigns the worker to this task.
  /// @pre The worker is not open.
  void open(worker_number w, std::string const& job, std::int64_t index, time_point now,
            std::uint32_t slots = 1);
  void close(worker_number w, time_point now);

  /// Adds a short execution. Returns false if the execution was not short.
  /// @pre The worker is open.
  bool add_short(worker_number w, function_id f, time_point started, time_point now, bool failed);
  /// @pre The worker is open.
  void add(worker_number w, execution const& e);
  /// Restores a span from an earlier server process. The oldest span must be restored first; the
  /// log contains all spans from that span on.
  void restore(lane_key const& on, span_view const& v);

  struct bounds {
    std::size_t limit = ~std::size_t{};
    std::size_t looks = ~std::size_t{};
  };
  /// Returns spans in the filter's time range, beginning with number `from`.
  span_page spans(activity_filter const& f, std::uint64_t from, bounds most, time_point now) const;
  /// Returns up to `lanes` lanes after `after`, with the names of all visited lanes.
  minute_page minutes(activity_filter const& f, std::optional<lane_key> const& after,
                      std::size_t lanes) const;
  /// Calls `f(lane)` for each lane after `after` that has a worker, until `f` returns false. `only`
  /// has the same meaning as for behind().
  template <class F>
  void for_each_open(std::vector<lane_key> const& only, std::optional<lane_key> after, F f) const {
    for (auto it = behind(lanes_, only, after); it != lanes_.end();
         it = behind(lanes_, only, after)) {
      after = it->first;
      if (it->second.workers > 0 && !f(view_of(*it))) return;
    }
  }
  bool is_open(worker_number w) const {
    return raw(w) < workers_.size() && workers_[raw(w)].at != nullptr;
  }
  /// Calls `f(id)` for the functions of spans and minutes, possibly several times per function.
  template <class F>
  void for_each_function(F f) const {
    for (auto const& c : chunks_)
      for (std::uint32_t i = 0; i < c.used; ++i)
        if (function_id const of{c.spans[i].function}; of != several_functions) f(of);
    for (auto const& [key, l] : lanes_)
      if (l.minutes)
        for (auto const& m : *l.minutes)
          if (function_id const of{m.function}; m.ran && of != several_functions) f(of);
  }
  std::uint64_t recorded() const { return next_; }
  std::size_t chunks() const { return chunks_.size(); }
  std::size_t lanes() const { return lanes_.size(); }

  std::string invalid() const;

 private:
  /// In a sum, `closure` contains the number of executions and, above bit 32, the number of
  /// failures.
  struct span {
    std::uint64_t closure;
    std::uint64_t started : 53;  // µs
    std::uint64_t state : 2;
    std::uint64_t sum : 1;
    std::uint64_t coarse : 6;  // number of bits by which `lasted` is shifted
    std::uint32_t lasted;      // µs
    std::uint32_t lane;
    std::uint32_t function;
    std::uint32_t job;  // low half of the job's ID; in a sum: µs of work
  };
  static_assert(sizeof(span) == span_bytes);

  struct chunk {
    std::unique_ptr<span[]> spans;
    std::uint64_t first = 0;
    std::uint32_t used = 0;
    time_point begin = never;
    // latest end of a span, including growing sums
    time_point end{};
  };

  struct minute {
    std::uint32_t number = 0;  // minutes since the epoch
    std::uint32_t count = 0;
    std::uint32_t failed = 0;
    std::uint32_t function = 0;  // several_functions if more than one function ran
    bool ran = false;
    duration busy{};

    void note(std::uint32_t f) {
      function = !std::exchange(ran, true) || function == f ? f : raw(several_functions);
    }
  };

  struct lane {
    std::uint32_t number = 0;
    std::uint32_t workers = 0;
    std::uint32_t slots = 0;  // maximum over the lane's workers
    time_point closed{};
    // Ring of minutes, allocated when the first minute is recorded.
    std::unique_ptr<std::array<minute, minutes_kept>> minutes;
  };
  using lane_map = std::map<lane_key, lane>;

  struct worker_sums {
    time_point until{};  // end of the open sums' interval; the epoch if no sums are open
    span* sum = nullptr;
    time_point begin{};
    lane* at = nullptr;        // null if no lane is open
    std::uint64_t number = 0;  // number of the first sum that can still grow
    std::array<span*, sums_max + 1> sums{};
    std::size_t open = 0;  // number of open sums; the last sum can be for several functions
  };

  lane_map::value_type& lane_of(lane_key const& key, time_point now);
  void keep(lane& l, execution const& e);
  span& append(time_point begin, time_point end, time_point now);
  void add_chunk(time_point now);
  void drop_oldest_chunk();
  void begin_sum(worker_sums& s, function_id f, time_point started, time_point now);
  void turn_to_sum(worker_sums& s, function_id f, time_point started, time_point now);
  void open_sum(worker_sums& s, function_id f, time_point started, time_point now);
  void fold(worker_sums& s);
  minute& minute_at(lane& l, time_point t);
  void forget_lanes(time_point now);
  /// Returns the number below which spans no longer change.
  std::uint64_t settled(time_point now) const { return now >= settled_at_ ? next_ : settled_; }
  static span_view view_of(span const& b);
  /// Returns the newest session whose ID has this low half. A low half is reused only long after
  /// its spans were dropped.
  session_id job_of(std::uint32_t low) const;
  static std::vector<minute_view> minutes_of(lane const& l, worker_sums const* growing);
  lane_view view_of(lane_map::value_type const& l) const {
    return {l.second.number, l.first.first, l.first.second, l.second.slots};
  }

  config const& config_;
  server_wide& wide_;
  std::vector<worker_sums> workers_;
  lane_map lanes_;
  std::unordered_map<std::uint32_t, lane_map::value_type const*> by_number_;
  // Lanes without a worker, ordered by the time at which their last worker left.
  std::set<std::pair<time_point, std::uint32_t>> closed_;
  std::uint32_t last_lane_ = 0;
  std::deque<chunk> chunks_;
  std::uint64_t next_ = 0;
  std::uint64_t settled_ = 0;  // first span of the newest interval that has spans
  time_point settled_at_{};    // end of that interval
  time_point recorded_since_;
  time_point complete_since_;
};

[[gnu::always_inline]] inline bool activity_log::add_short(worker_number w, function_id f,
                                                           time_point started, time_point now,
                                                           bool failed) {
  auto const took = now - started;
  if (took >= short_below) return false;
  auto& s = workers_[raw(w)];
  if (now >= s.until)
    begin_sum(s, f, started, now);
  else if (s.sum->function != raw(f))
    turn_to_sum(s, f, started, now);
  auto& b = *s.sum;
  b.closure += 1 | std::uint64_t{failed} << 32;
  b.job += static_cast<std::uint32_t>(took.count());
  b.lasted = static_cast<std::uint32_t>((now - s.begin).count());
  return true;
}

}  // namespace muster::history
