// Durations of the workers' executions in the last minutes, and how slow each worker has been in
// each minute of the last hour. Workers are compared by slowness.hpp.
//
// A worker is a task here, whose process can change. Only executions that succeeded are counted, in
// the minute in which they ended. Owned by a cluster's history; used only on the engine thread.
// Limits: the constants in this class (at most 20 MB).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "server/core/api/activity.hpp"
#include "server/core/api/changes.hpp"
#include "server/history/names.hpp"
#include "server/history/workers/slowness.hpp"

namespace muster::history {

struct slowness_view {
  double ratio = 0;          // 0 if the worker cannot be compared
  time_point since = never;  // start of a minute; `never` unless the worker is slow
};

class worker_durations {
 public:
  /// Minutes whose executions are compared.
  static constexpr std::size_t window_minutes = 10;
  /// A worker and function with fewer executions in the window are not compared.
  static constexpr std::uint64_t executions_min = 3;
  static constexpr std::size_t minutes_kept = 60;
  /// At the limit, the worker that has run nothing for longest is dropped. A new worker is not
  /// compared if all have run something within an hour.
  static constexpr std::size_t workers_max = 16'384;
  /// Pairs of a worker and a function in each minute. Further pairs of the minute are not counted.
  static constexpr std::size_t pairs_max = 8'192;
  /// Time for which computed ratios are reused.
  static constexpr duration computed_for = std::chrono::seconds(1);

  void fold(changes const& c, names const& named, time_point now);
  /// Restores executions from an earlier server process, oldest first.
  void restore(lane_key const& task, span_view const& s);

  slowness_view of(lane_key const& task, time_point now);
  struct point {
    time_point minute{};
    double ratio = 0;
  };
  /// Returns the minutes of the last hour in which the worker could be compared, oldest first.
  std::vector<point> course(lane_key const& task, time_point now);

  /// Calls `f(id)` for the functions of the window, possibly several times per function.
  template <class F>
  void for_each_function(F f) const {
    for (auto const& t : tables_)
      for (auto const& [key, sum] : t.sums) f(function_id{static_cast<std::uint32_t>(key)});
  }
  std::size_t workers() const { return tasks_.size(); }

 private:
  static constexpr std::uint32_t none = ~0u;

  struct sum {
    std::uint64_t count = 0;
    duration total{};
  };
  struct table {
    std::uint32_t minute = 0;                     // minutes since the epoch
    std::unordered_map<std::uint64_t, sum> sums;  // the key is the worker, then the function
  };
  struct task {
    lane_key name;
    std::uint32_t used = 0;  // the last minute in which the task was attached or ran something
    std::array<minute_ratios, minutes_kept>
        minutes{};  // a ring; the current minute is not included
  };
  // The sum to which a stream's last execution was added.
  struct stream {
    std::uint32_t task = none;
    std::uint32_t function = 0;
    std::uint32_t minute = 0;
    sum* last = nullptr;
  };

  void attach(worker_changed const& w);
  std::uint32_t task_of(lane_key const& name);
  std::optional<std::uint32_t> unused_task();
  void add(worker_number w, function_id f, duration took);
  sum* sum_of(std::uint32_t task, function_id f);
  void advance(time_point now);
  void finish_minute();
  void compute(time_point now);
  std::vector<duration_sum> sums(std::size_t tables) const;
  std::array<minute_ratios, minutes_kept> hour(std::uint32_t task) const;

  std::deque<table> tables_;  // at most window_minutes; the last is of the current minute
  std::uint32_t now_ = 0;     // the current minute
  std::vector<task> tasks_;
  std::map<lane_key, std::uint32_t> numbers_;
  std::vector<stream> streams_;  // by the core's worker number
  std::unordered_map<std::uint32_t, minute_ratios> current_;
  time_point computed_ = {};
};

}  // namespace muster::history
