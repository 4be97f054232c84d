// Who came late to the barriers of one generation that have passed: each of the newest ones with
// everybody's time behind the median, and sums of them by task: the question of everybody who
// trains on many hosts is which one is usually the last. Owned by barrier_lateness, which tells
// it of each end; engine thread only; pure. Bounded: meetings_max, with 4 bytes a participant, so
// 25 MB for the greatest cluster; one more takes the place of the oldest.
#pragma once

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

#include "server/core/coordination/api/coordination_changes.hpp"

namespace muster::history {

using namespace muster::core;  // what is folded has the cores' words

class lateness {
 public:
  static constexpr std::size_t meetings_max = 64;

  struct meeting {
    coordination::barrier_instance which;
    time_point ended{};
    std::shared_ptr<coordination::participants const> who;
    std::vector<std::uint32_t> came_us;  // by position in `who`, after the first of them
    std::uint32_t median_us = 0;         // of these
    coordination::task_index last = coordination::no_task;
    duration late{};    // of the last one
    duration spread{};  // from the first to the last

    /// By which one came after the median; 0: it did not.
    std::uint32_t late_us(std::size_t position) const {
      return std::max(came_us[position], median_us) - median_us;
    }
  };
  /// Over the meetings that are remembered.
  struct sums {
    std::uint32_t meetings = 0;
    std::uint32_t last = 0;
    std::uint64_t late_us = 0;

    bool operator==(sums const&) const = default;
  };

  /// Everybody has come. REQUIRES: two or more, came[i] is when who[i] did.
  void note(coordination::barrier_instance which,
            std::shared_ptr<coordination::participants const> who, std::span<time_point const> came,
            time_point ended);

  std::deque<meeting> const& meetings() const { return meetings_; }  // oldest first
  sums of(coordination::task_index t) const { return t < by_task_.size() ? by_task_[t] : sums{}; }
  /// The tasks that were ever last or late, those that most often were first; at most `limit`.
  std::vector<coordination::task_index> worst(std::size_t limit) const;
  duration latest(coordination::task_index t) const;

  std::string violated_invariant() const;

 private:
  /// `times`: 1, or -1 to take it away.
  static void add(meeting const& m, int times, std::vector<sums>& to);

  std::deque<meeting> meetings_;
  std::vector<sums> by_task_;
};

}  // namespace muster::history
