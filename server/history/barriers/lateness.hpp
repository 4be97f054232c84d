// Late arrivals at the most recently completed barriers of one generation, with sums by task. Owned
// by barrier_lateness; used only on the engine thread; pure. Stores at most meetings_max barriers,
// with 4 bytes per participant (at most 25 MB in total). At the limit, the oldest barrier is
// dropped.
#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include "server/core/coordination/api/coordination_changes.hpp"

namespace muster::history {

using namespace muster::core;

class lateness {
 public:
  static constexpr std::size_t meetings_max = 64;

  struct meeting {
    coordination::barrier_instance which;
    time_point ended{};
    std::shared_ptr<coordination::participants const> who;
    std::vector<std::uint32_t> arrival_us;  // time after the first arrival; ordered like `who`
    std::uint32_t median_us = 0;
    coordination::task_index last = coordination::no_task;
    duration late{};
    duration spread{};  // time from the first to the last arrival

    /// Returns the participant's delay after the median arrival, or 0.
    std::uint32_t late_us(std::size_t position) const {
      return std::max(arrival_us[position], median_us) - median_us;
    }
  };
  struct sums {
    std::uint32_t meetings = 0;
    std::uint32_t last = 0;
    std::uint64_t late_us = 0;

    bool operator==(sums const&) const = default;
  };

  /// @pre There are at least two participants, and came[i] is the arrival time of who[i].
  void note(coordination::barrier_instance which,
            std::shared_ptr<coordination::participants const> who, std::span<time_point const> came,
            time_point ended);

  std::deque<meeting> const& meetings() const { return meetings_; }  // oldest first
  sums of(coordination::task_index t) const { return t < by_task_.size() ? by_task_[t] : sums{}; }
  /// Returns tasks that were at least once last or late. The task that was last most often comes
  /// first.
  std::vector<coordination::task_index> worst(std::size_t limit) const;
  duration latest(coordination::task_index t) const;

  std::string violated_invariant() const;

 private:
  /// @param times 1 to add, -1 to subtract
  static void add(meeting const& m, int times, std::vector<sums>& to);

  std::deque<meeting> meetings_;
  std::vector<sums> by_task_;
};

}  // namespace muster::history
