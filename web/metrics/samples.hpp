// The server's numbers over time: 5 minutes by the second, an hour by 10 seconds, a day by the
// minute. Fed about once a second whether somebody looks or not.
//
// Numbers of closures are means of what was seen in the step, heartbeats' ages the greatest; rates
// and times are of what ended within it: percentiles come from the differences of the core's
// histograms, as the mean of the bucket that has it: never more than was seen, nor less. 0 where
// nothing ended.
//
// Owned by a topic_set; web thread. 2,100 points of 44 bytes: fixed.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/history/metrics/closure_meter.hpp"
#include "server/history/metrics/past_point.hpp"
#include "web/metrics/counters.hpp"

namespace muster::web {

/// What a sample is made of, beside the counters.
struct closure_times {
  history::histogram wait, run;
};
/// Engine thread; of all clusters in scope together.
closure_times collect_times(server::pools& all, server::cluster_scope const& scope);

class sample_history {
 public:
  static constexpr std::string_view spans[] = {"5m", "1h", "24h"};

  using point = history::past_point;

  sample_history();

  /// `earlier` gives the points of an earlier process, oldest first, and is asked before the first
  /// of this one is added; `made` is told of each of this one. REQUIRES: nothing was added.
  void go_on(std::function<std::vector<point>()> earlier, std::function<void(point const&)> made) {
    earlier_ = std::move(earlier);
    made_ = std::move(made);
  }

  /// What is known now. A step ends with the first that comes when its time is over.
  void add(counters const& c, closure_times const& t);
  /// REQUIRES: one of `spans`.
  void say(member_list const& m, std::string_view span) const;

 private:
  class series {
   public:
    series(std::chrono::milliseconds step, std::size_t points) : step_(step), points_max_(points) {}
    /// The point that this has ended, if it has.
    std::optional<point> add(counters const& c, closure_times const& t);
    void keep(point const& p);
    void say(member_list const& m) const;

   private:
    std::chrono::milliseconds step_;
    std::size_t points_max_;
    std::deque<point> points_;  // the oldest makes room
    // Of the step that is under way.
    core::time_point begun_{};
    closure_times then_;
    std::uint64_t finished_then_ = 0, failed_then_ = 0;
    double queued_ = 0, running_ = 0, heard_ = 0;
    std::uint32_t seen_ = 0;
  };

  std::array<series, 3> all_;
  std::function<std::vector<point>()> earlier_ = [] { return std::vector<point>(); };
  std::function<void(point const&)> made_ = [](auto const&) {};
};

/// These points as columns. The points follow each other.
void say_points(member_list const& m, core::duration step,
                std::deque<sample_history::point> const& points);

/// The time within which the share `p` of what `now` has beyond `then` was done, in ms: between the
/// least and the greatest of those in its bucket.
double percentile_between(history::histogram const& then, history::histogram const& now, double p);

}  // namespace muster::web
