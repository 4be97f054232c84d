// Time series of the server's counters: 5 minutes by second, an hour by 10 seconds, a day by
// minute.
//
// Closure counts are means over a step; heartbeat ages are maxima. Rates and durations cover
// closures that finished within the step, and are 0 if no closure finished. Percentiles are
// computed from differences between the core's histograms. A percentile is the mean of its bucket,
// so it lies within the observed range.
//
// Owned by a topic_set; used on the web thread. The size is fixed: 2,100 points of 44 bytes.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "server/history/metrics/chart_point.hpp"
#include "server/history/metrics/closure_meter.hpp"
#include "web/metrics/counters.hpp"

namespace muster::web {

struct closure_times {
  history::histogram wait, run;
};
/// Must be called on the engine thread.
closure_times collect_times(server::pools& all, server::cluster_scope const& scope);

class sample_history {
 public:
  static constexpr std::string_view spans[] = {"5m", "1h", "24h"};

  using point = history::chart_point;

  sample_history();

  /// Continues the history of the previous process. `earlier` returns that process's points, oldest
  /// first; `made` is called for each new point. REQUIRES: add() has not been called.
  void go_on(std::function<std::vector<point>()> earlier, std::function<void(point const&)> made) {
    earlier_ = std::move(earlier);
    made_ = std::move(made);
  }

  void add(counters const& c, closure_times const& t);
  /// REQUIRES: `span` is in `spans`.
  void say(member_list const& m, std::string_view span) const;

 private:
  class series {
   public:
    series(std::chrono::milliseconds step, std::size_t points) : step_(step), points_max_(points) {}
    /// Returns the point of the step that this call completes, if any.
    std::optional<point> add(counters const& c, closure_times const& t);
    void keep(point const& p);
    void say(member_list const& m) const;

   private:
    std::chrono::milliseconds step_;
    std::size_t points_max_;
    std::deque<point> points_;
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

/// REQUIRES: `points` is in chronological order.
void write_points(member_list const& m, core::duration step,
                  std::deque<sample_history::point> const& points);

/// Returns the percentile `p`, in ms, of the durations that were added between `then` and `now`, as
/// the mean of its bucket.
double percentile_between(history::histogram const& then, history::histogram const& now, double p);

}  // namespace muster::web
