// What workers did lately: a span for each execution of a millisecond and more, the shorter ones as
// sums of a lane, a function and 100 ms, and of each lane its last hour by minutes. A lane is a
// task: its workers come and go.
//
//   ended ──short──► the worker's open sum, a growing span ──next 100 ms──► the lane's minutes
//         └─long───► a span of its own ───────────────────────────────────► the lane's minutes
//
// Spans are numbered in the order in which they were begun and live in chunks; a reader goes on at
// a number. Those begun in the current 100 ms may still grow and are not shown yet.
//
// Short closures come by millions a second: for one of the same function as the one before, its
// worker's row and its sum are added to, and nothing is looked up or allocated. A worker has sums
// of four functions at one time; what others do is one more, of several functions.
//
// A listener's part: it folds changes (`fold`), and functions have the numbers of history's names.
// Owned by the history of a cluster; engine thread only. Limits: spans of the last hour, as far as
// they fit into config::activity_bytes_max in the whole server (then the oldest chunk of this
// cluster goes, though its two newest stay); config::tasks_max lanes of 2 KiB (then the one whose
// worker left longest ago goes). The past is no state of the cluster: it is not saved, only who
// serves which lane is.
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

using namespace muster::core;  // what is folded has the core's words

/// The first of a map by lane_key behind `after`, of those that are asked for (sorted; none: all).
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
  static constexpr std::size_t sums_max = 4;  // of one function each, of a worker at one time
  static constexpr std::uint32_t spans_a_chunk = 4096;
  static constexpr std::size_t span_bytes = 32;
  static constexpr std::size_t chunk_bytes = spans_a_chunk * span_bytes;

  /// `c` and `wide` outlive it. Spans are complete since `start`.
  activity_log(config const& c, server_wide& wide, time_point start)
      : config_(c), wide_(wide), recorded_since_(start), complete_since_(start) {}
  ~activity_log();
  activity_log(activity_log const&) = delete;

  /// Takes what a step of the core has said, `now`.
  void fold(changes const& c, names const& named, time_point now);

  /// The worker executes for this task. REQUIRES: its number is not open.
  void open(worker_number w, std::string const& job, std::int64_t index, time_point now,
            std::uint32_t slots = 1);
  void close(worker_number w, time_point now);

  /// Takes one that was short; false: it was not. REQUIRES: the worker is open.
  bool add_short(worker_number w, function_id f, time_point started, time_point now, bool failed);
  /// Takes any. The same holds.
  void add(worker_number w, execution const& e);
  /// Takes one that an earlier process has shown, where nobody works yet; the oldest first, which
  /// spans are complete since then. REQUIRES: nothing has been added or opened.
  void restore(lane_key const& on, span_view const& v);

  struct bounds {
    std::size_t limit = ~std::size_t{};  // spans of the page, and…
    std::size_t looks = ~std::size_t{};  // …those that are looked at
  };
  /// Spans from number `from` on that overlap the filter's span.
  span_page spans(activity_filter const& f, std::uint64_t from, bounds most, time_point now) const;
  /// Minutes of the lanes behind `after`, of at most `lanes` of them; names all that were looked
  /// at.
  minute_page minutes(activity_filter const& f, std::optional<lane_key> const& after,
                      std::size_t lanes) const;
  /// `f(lane)` for those behind `after` that a worker is on, of those that are asked for, until it
  /// says false.
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
  /// `f(id)` for whatever is named, the same one many times.
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
  /// How many spans were begun: the number of the next.
  std::uint64_t recorded() const { return next_; }
  std::size_t chunks() const { return chunks_.size(); }
  std::size_t lanes() const { return lanes_.size(); }

  /// Empty when all is in order between two steps.
  std::string invalid() const;

 private:
  /// 32 bytes. Of a sum, `closure` is how many there were and, above 32 bits, how many failed.
  struct span {
    std::uint64_t closure;
    std::uint64_t started : 53;  // µs
    std::uint64_t state : 2;
    std::uint64_t sum : 1;
    std::uint64_t coarse : 6;  // what is shifted out of `lasted`
    std::uint32_t lasted;      // µs
    std::uint32_t lane;
    std::uint32_t function;
    std::uint32_t job;  // low half of its id; of a sum: µs of work
  };
  static_assert(sizeof(span) == span_bytes);

  struct chunk {
    std::unique_ptr<span[]> spans;
    std::uint64_t first = 0;  // number of its first span
    std::uint32_t used = 0;
    time_point begin = never;  // of what is in it, and…
    time_point end{};          // …its end; of sums that may still grow their latest
  };

  struct minute {
    std::uint32_t number = 0;  // since the epoch
    std::uint32_t count = 0;
    std::uint32_t failed = 0;
    std::uint32_t function = 0;  // several_functions among them
    bool ran = false;            // something did: the function is known
    duration busy{};

    void note(std::uint32_t f) {
      function = !std::exchange(ran, true) || function == f ? f : raw(several_functions);
    }
  };

  struct lane {
    std::uint32_t number = 0;
    std::uint32_t workers = 0;                                  // that are here
    std::uint32_t slots = 0;                                    // most that one has had
    time_point closed{};                                        // when the last one left
    std::unique_ptr<std::array<minute, minutes_kept>> minutes;  // by number; from the first on
  };
  using lane_map = std::map<lane_key, lane>;

  /// Of a worker, by its number.
  struct worker_sums {
    time_point until{};        // when its sums end; epoch: it has none
    span* sum = nullptr;       // the one that was added to last, and…
    time_point begin{};        // …its begin
    lane* at = nullptr;        // null: not open
    std::uint64_t number = 0;  // of the first of…
    std::array<span*, sums_max + 1> sums{};
    std::size_t open = 0;  // …so many; the last may be of several functions
  };

  lane_map::value_type& lane_of(lane_key const& key, time_point now);
  /// A span of its own, and its minutes.
  void keep(lane& l, execution const& e);
  span& append(time_point begin, time_point end, time_point now);
  void add_chunk(time_point now);
  void drop_oldest_chunk();
  void begin_sum(worker_sums& s, function_id f, time_point started, time_point now);
  /// Another function than before, in the same span.
  void turn_to_sum(worker_sums& s, function_id f, time_point started, time_point now);
  void open_sum(worker_sums& s, function_id f, time_point started, time_point now);
  /// The sums are over: their minute takes them.
  void fold(worker_sums& s);
  minute& minute_at(lane& l, time_point t);
  void forget_lanes(time_point now);
  /// Spans before this number do not change any more.
  std::uint64_t settled(time_point now) const { return now >= settled_at_ ? next_ : settled_; }
  static span_view view_of(span const& b);
  /// The newest session whose id ends like this: spans are not kept for as long as it takes to open
  /// so many.
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
  std::set<std::pair<time_point, std::uint32_t>> closed_;  // lanes without a worker, since when
  std::uint32_t last_lane_ = 0;
  std::deque<chunk> chunks_;
  std::uint64_t next_ = 0;     // number of the next span
  std::uint64_t settled_ = 0;  // of the first span of the newest sum_span that has any
  time_point settled_at_{};    // end of that span
  time_point recorded_since_;
  time_point complete_since_;
};

// What every short closure goes through is inline.
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
