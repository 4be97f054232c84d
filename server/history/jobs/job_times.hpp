// How long the executions of each job took, whole and by function and worker: a listener that adds
// each one up in buckets, so that a job of millions costs as much as one of a hundred.
//
// An execution is what a worker has answered; a closure that is tried again has several. Of jobs of
// an earlier process those that are known are counted once. Owned by the history of a cluster;
// engine thread only. Limits: below, and a line for each job that the core knows
// (config::sessions_max).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/history/metrics/histogram.hpp"
#include "server/history/names.hpp"

namespace muster::history {

/// Durations in the buckets of a histogram. Empty buckets are not stored.
class run_times {
 public:
  struct cell {
    std::uint16_t bucket = 0;  // its place in a histogram
    std::uint64_t count = 0, failed = 0;
    duration least{}, most{};  // the shortest and the longest of its durations
  };

  /// What it has grown by, in bytes.
  std::size_t add(duration d, bool failed);
  std::vector<cell> const& cells() const { return cells_; }  // the shortest first
  std::uint64_t ran() const { return ran_; }
  std::uint64_t failed() const { return failed_; }
  duration busy() const { return busy_; }
  duration longest() const { return longest_; }
  /// Returns the percentile by nearest rank, interpolated within its bucket; 0 without durations.
  /// It is exact where a bucket has one or two durations. `part`: 0 to 1.
  duration percentile(double part) const;

 private:
  std::vector<cell> cells_;
  std::uint64_t ran_ = 0, failed_ = 0;
  duration busy_{}, longest_{};
};

struct job_times_view {
  struct row {
    std::string name;  // empty: those for which there was no room, or of whom it is not known
    run_times times;
  };
  run_times all;
  std::vector<row> functions, workers;  // the busiest first
  bool detailed = true;                 // false: the tables had to go
};

class job_times {
 public:
  /// Of one job. What comes beyond is one row together.
  static constexpr std::size_t functions_max = 64, workers_max = 1'024;
  /// Of the tables of all jobs. More: those of the oldest job go, its sums stay.
  static constexpr std::size_t bytes_max = std::size_t{32} << 20;
  /// Names of workers. More are as if they had none.
  static constexpr std::size_t tasks_max = 65'536;

  /// `named` has folded the same.
  void fold(changes const& c, names const& named);
  /// For names: what is shown.
  void for_each_function(std::function<void(function_id)> const& use) const;
  /// None: nothing of it was executed.
  std::optional<job_times_view> look(session_id job, names const& named) const;
  std::size_t bytes() const { return bytes_; }

 private:
  using rows = std::unordered_map<std::uint32_t, run_times>;
  static constexpr std::uint32_t others = ~0u;

  struct job {
    run_times all;
    rows functions, workers;  // by number
    std::size_t bytes = 0;    // of these
    bool detailed = true;
  };

  void add(session_id of, function_id function, std::uint32_t task, duration d, bool failed);
  static std::size_t add(rows& to, std::uint32_t which, std::size_t rows_max, duration d,
                         bool failed);
  void learn(worker_changed const& w);
  std::uint32_t task_of(worker_number w) const {
    return raw(w) < workers_.size() ? workers_[raw(w)] : others;
  }
  void make_room();

  std::map<session_id, job> jobs_;
  std::size_t bytes_ = 0;
  std::vector<std::string> tasks_;
  std::unordered_map<std::string, std::uint32_t> task_numbers_;
  std::vector<std::uint32_t> workers_;  // tasks, by the core's number
};

}  // namespace muster::history
